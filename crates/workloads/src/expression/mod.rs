//! Expressions of pgbench's `\set`, as its manual defines them (version 16, "Built-In Operators" and "Built-In
//! Functions"): whole numbers have 64 bits, their division truncates, and an overflow is an error.

mod parse;

use std::f64::consts::{PI, TAU};

use rqps_model::random::Stream;

use crate::zipf::Zipf;

pub use parse::{CLIENT_ID, parse, variable_meant};

/// The value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Whole(i64),
    Double(f64),
    Truth(bool),
}

/// Computes the value of a variable in each event.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    Constant(Value),
    /// An earlier variable of the script, by its index.
    Variable(u16),
    /// `:client_id`, from 0.
    ClientId,
    Call(Function, Vec<Expression>),
    /// Conditions with values, and the value if none is true.
    Case(Vec<(Expression, Expression)>, Box<Expression>),
    /// `random_zipfian` of constants: its lower bound, and the distribution above it.
    Zipf(i64, Box<Zipf>),
}

/// A function or an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Or,
    And,
    Not,
    Less,
    LessOrEqual,
    Equal,
    BitOr,
    BitXor,
    BitAnd,
    BitNot,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Abs,
    Double,
    Exp,
    Greatest,
    Int,
    Least,
    Ln,
    Pi,
    Power,
    Sqrt,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
}

/// What values depend on.
pub struct Event<'e> {
    /// Values of the script's earlier variables.
    pub values: &'e [Value],
    pub client: u32,
    /// Without, each random value is the middle of its range.
    pub random: Option<&'e mut Stream>,
}

/// Values that a function takes.
const OPERANDS_MAX: usize = 8;
/// pgbench refuses other parameters of the distributions.
const GAUSSIAN_MIN: f64 = 2.0;
const ZIPFIAN_MIN: f64 = 1.001;
const ZIPFIAN_MAX: f64 = 1000.0;

impl Value {
    /// Rounded, as `int()` does; a parameter of a statement.
    pub fn whole(self) -> Result<i64, String> {
        match self {
            Value::Whole(whole) => Ok(whole),
            Value::Double(double) => {
                let rounded = double.round_ties_even();
                let fits = rounded >= i64::MIN as f64 && rounded < i64::MAX as f64;
                if fits {
                    Ok(rounded as i64)
                } else {
                    Err(format!("{double} is not a whole number of 64 bits"))
                }
            }
            Value::Truth(_) => Err("a truth value is not a number".to_owned()),
        }
    }

    fn double(self) -> Result<f64, String> {
        match self {
            Value::Whole(whole) => Ok(whole as f64),
            Value::Double(double) => Ok(double),
            Value::Truth(_) => Err("a truth value is not a number".to_owned()),
        }
    }

    fn truth(self) -> Result<bool, String> {
        match self {
            Value::Truth(truth) => Ok(truth),
            _ => Err("a number is not a truth value: compare it".to_owned()),
        }
    }
}

impl Expression {
    /// The value in an event.
    ///
    /// # Errors
    /// If it has none: an overflow, a division by zero, a range that ends before it begins.
    pub fn value(&self, event: &mut Event<'_>) -> Result<Value, String> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Variable(at) => event
                .values
                .get(usize::from(*at))
                .copied()
                .ok_or_else(|| "a variable is not set yet".to_owned()),
            Self::ClientId => Ok(Value::Whole(event.client.into())),
            Self::Case(cases, otherwise) => {
                for (condition, value) in cases {
                    if condition.value(event)?.truth()? {
                        return value.value(event);
                    }
                }
                otherwise.value(event)
            }
            Self::Zipf(low, zipf) => Ok(Value::Whole(match &mut event.random {
                Some(stream) => low.wrapping_add_unsigned(zipf.draw(stream) - 1),
                None => low.wrapping_add_unsigned((zipf.count() - 1) / 2),
            })),
            // The second operand has a value only if it matters.
            Self::Call(Function::And, both) => {
                Ok(Value::Truth(both[0].value(event)?.truth()? && both[1].value(event)?.truth()?))
            }
            Self::Call(Function::Or, both) => {
                Ok(Value::Truth(both[0].value(event)?.truth()? || both[1].value(event)?.truth()?))
            }
            Self::Call(function, operands) => {
                // Every event does this: without an allocation.
                let mut values = [Value::Whole(0); OPERANDS_MAX];
                for (value, operand) in values.iter_mut().zip(operands) {
                    *value = operand.value(event)?;
                }
                function.value(&values[..operands.len().min(OPERANDS_MAX)], &mut event.random)
            }
        }
    }
}

impl Function {
    fn value(self, values: &[Value], random: &mut Option<&mut Stream>) -> Result<Value, String> {
        use Function as F;
        let double = |at: usize| values[at].double();
        let whole = |at: usize| values[at].whole();
        Ok(match self {
            F::Add | F::Subtract | F::Multiply | F::Divide => return arithmetic(self, values[0], values[1]),
            F::Modulo => match (whole(0)?, whole(1)?) {
                (_, 0) => return Err("a division by zero".to_owned()),
                (left, right) => Value::Whole(left.wrapping_rem(right)),
            },
            F::Not => Value::Truth(!values[0].truth()?),
            F::Less | F::LessOrEqual | F::Equal => Value::Truth(compared(self, values[0], values[1])?),
            F::BitOr => Value::Whole(whole(0)? | whole(1)?),
            F::BitXor => Value::Whole(whole(0)? ^ whole(1)?),
            F::BitAnd => Value::Whole(whole(0)? & whole(1)?),
            F::BitNot => Value::Whole(!whole(0)?),
            F::ShiftLeft => Value::Whole(whole(0)?.wrapping_shl(whole(1)? as u32)),
            F::ShiftRight => Value::Whole(whole(0)?.wrapping_shr(whole(1)? as u32)),
            F::Abs => match values[0] {
                Value::Whole(number) => Value::Whole(number.checked_abs().ok_or_else(overflow)?),
                other => Value::Double(other.double()?.abs()),
            },
            F::Double => Value::Double(double(0)?),
            F::Exp => Value::Double(double(0)?.exp()),
            F::Int => Value::Whole(whole(0)?),
            F::Ln => Value::Double(double(0)?.ln()),
            F::Pi => Value::Double(PI),
            F::Power => Value::Double(double(0)?.powf(double(1)?)),
            F::Sqrt => Value::Double(double(0)?.sqrt()),
            F::Greatest => extreme(values, f64::max, i64::max)?,
            F::Least => extreme(values, f64::min, i64::min)?,
            F::Random | F::RandomExponential | F::RandomGaussian | F::RandomZipfian => {
                let parameter = values.get(2).map(|value| value.double()).transpose()?.unwrap_or_default();
                Value::Whole(self.draw(whole(0)?, whole(1)?, parameter, random)?)
            }
            // They are evaluated where their operands are.
            F::And | F::Or => return Err("not a function".to_owned()),
        })
    }

    /// A random value. The distributions are those of pgbench's manual.
    fn draw(
        self,
        low: i64,
        high: i64,
        parameter: f64,
        random: &mut Option<&mut Stream>,
    ) -> Result<i64, String> {
        let count = count(low, high)?;
        match self {
            Self::RandomGaussian if parameter.is_nan() || parameter < GAUSSIAN_MIN => {
                return Err(format!("the parameter of random_gaussian must be {GAUSSIAN_MIN} or more"));
            }
            Self::RandomExponential if parameter.is_nan() || parameter <= 0.0 => {
                return Err("the parameter of random_exponential must be above 0".to_owned());
            }
            Self::RandomZipfian => check_exponent(parameter)?,
            _ => {}
        }
        let Some(stream) = random else { return Ok(i64::midpoint(low, high)) };
        let share = match self {
            Self::RandomZipfian => {
                return Ok(low.wrapping_add_unsigned(Zipf::new(count, parameter).draw(stream) - 1));
            }
            Self::RandomExponential => {
                let cut = (-parameter).exp();
                -(cut + (1.0 - cut) * (1.0 - stream.unit())).ln() / parameter
            }
            Self::RandomGaussian => loop {
                // Box and Muller.
                let radius = (-2.0 * (1.0 - stream.unit()).ln()).sqrt();
                let normal = radius * (TAU * stream.unit()).sin();
                if (-parameter..parameter).contains(&normal) {
                    break (normal + parameter) / (2.0 * parameter);
                }
            },
            _ => return Ok(low.wrapping_add_unsigned(stream.key(count) - 1)),
        };
        Ok(low.wrapping_add_unsigned(((count as f64 * share) as u64).min(count - 1)))
    }
}

/// How many numbers there are from one to another.
fn count(low: i64, high: i64) -> Result<u64, String> {
    if low > high {
        return Err(format!("{low} is above {high}"));
    }
    high.abs_diff(low).checked_add(1).ok_or_else(overflow)
}

fn check_exponent(exponent: f64) -> Result<(), String> {
    match (ZIPFIAN_MIN..=ZIPFIAN_MAX).contains(&exponent) {
        true => Ok(()),
        false => Err(format!("the parameter of random_zipfian must be from {ZIPFIAN_MIN} to {ZIPFIAN_MAX}")),
    }
}

fn overflow() -> String {
    "a number does not fit into 64 bits".to_owned()
}

/// Of whole numbers, whole; of others, double.
fn arithmetic(function: Function, left: Value, right: Value) -> Result<Value, String> {
    if let (Value::Whole(a), Value::Whole(b)) = (left, right) {
        let value = match function {
            Function::Add => a.checked_add(b),
            Function::Subtract => a.checked_sub(b),
            Function::Multiply => a.checked_mul(b),
            _ if b == 0 => return Err("a division by zero".to_owned()),
            _ => a.checked_div(b),
        };
        return value.map(Value::Whole).ok_or_else(overflow);
    }
    let (a, b) = (left.double()?, right.double()?);
    Ok(Value::Double(match function {
        Function::Add => a + b,
        Function::Subtract => a - b,
        Function::Multiply => a * b,
        _ if b == 0.0 => return Err("a division by zero".to_owned()),
        _ => a / b,
    }))
}

fn compared(function: Function, left: Value, right: Value) -> Result<bool, String> {
    let order = match (left, right) {
        (Value::Whole(a), Value::Whole(b)) => Some(a.cmp(&b)),
        (Value::Truth(a), Value::Truth(b)) => Some(a.cmp(&b)),
        _ => left.double()?.partial_cmp(&right.double()?),
    };
    Ok(order.is_some_and(|order| match function {
        Function::Less => order.is_lt(),
        Function::LessOrEqual => order.is_le(),
        _ => order.is_eq(),
    }))
}

/// The greatest or the least.
fn extreme(
    values: &[Value],
    double: fn(f64, f64) -> f64,
    whole: fn(i64, i64) -> i64,
) -> Result<Value, String> {
    let all_whole = values.iter().map(|value| match value {
        Value::Whole(number) => Some(*number),
        _ => None,
    });
    if let Some(value) = all_whole.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().reduce(whole)) {
        return Ok(Value::Whole(value));
    }
    let doubles = values.iter().map(|value| value.double()).collect::<Result<Vec<_>, _>>()?;
    Ok(Value::Double(doubles.into_iter().reduce(double).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Value, String> {
        parse(text, &[])?.value(&mut Event { values: &[], client: 3, random: None })
    }

    /// The examples of pgbench's manual, and what its grammar gives.
    #[test]
    fn values_are_those_of_pgbench() {
        for (text, expected) in [
            ("2 + 3", 5),
            ("5 / 3", 1),
            ("-5 / 3", -1),
            ("-5 % 3", -2),
            ("mod(54, 32)", 22),
            ("2 + 3 * 4", 14),
            ("(2 + 3) * 4", 20),
            ("7 - 2 - 1", 4),
            ("- 2 * 3 + 10", 4),
            ("1 | 2 + 1", 3),
            ("6 & 3 | 8", 10),
            ("5 # 3", 6),
            ("~ 5", -6),
            ("1 << 2 + 1", 8),
            ("8 >> 2", 2),
            ("abs(-17)", 17),
            ("int(5.4 + 3.8)", 9),
            ("int(0.5)", 0),
            ("greatest(5, 4, 3, 2)", 5),
            ("least(5, 4, 3, 2)", 2),
            ("GREATEST(1, :client_id)", 3),
            ("100_000 * 10", 1_000_000),
            ("random(1, 9)", 5),
            ("CASE WHEN 1 > 2 THEN 10 WHEN NOT 2 <> 2 AND 3 <= 3 THEN 20 ELSE 30 END", 20),
            ("case when 1 = 2 or false then 1 / 0 else 7 end", 7),
        ] {
            assert_eq!(value(text), Ok(Value::Whole(expected)), "{text}");
        }
        for (text, expected) in [
            ("5 / 2.0", 2.5),
            ("double(5432)", 5432.0),
            ("exp(1.0)", 1f64.exp()),
            ("ln(2.718281828459045)", 1.0),
            ("power(2.0, 10)", 1024.0),
            ("pow(2, 0.5)", 2f64.sqrt()),
            ("sqrt(2.0)", 2f64.sqrt()),
            ("pi()", PI),
            ("greatest(5, 4.5)", 5.0),
            ("1.5e1 - .5", 14.5),
        ] {
            let Ok(Value::Double(got)) = value(text) else { panic!("{text}: {:?}", value(text)) };
            assert!((got - expected).abs() < 1e-12, "{text}: {got}");
        }
        for (text, words) in [
            ("1 / 0", "a division by zero"),
            ("1 % (2 - 2)", "a division by zero"),
            ("9223372036854775807 + 1", "does not fit into 64 bits"),
            ("9223372036854775808", "does not fit into 64 bits"),
            ("random(9, 1)", "9 is above 1"),
            ("random_zipfian(1, 9, 1.0)", "from 1.001 to 1000"),
            ("random_gaussian(1, 9, 1.9)", "must be 2 or more"),
            ("random_exponential(1, 9, 0)", "above 0"),
            ("1 + (2 < 3)", "a truth value is not a number"),
            ("hash(5)", "there is no function `hash`; there are abs"),
            ("randm(1, 9)", "there is no function `randm`; did you mean `random`?"),
            ("mod(5)", "`mod` takes 2 values"),
            ("(1 + 2", "`)` is missing"),
            ("1 +", "a value is missing"),
            ("1 2", "after the end"),
            (":scale * 2", "\\set scale 10"),
            ("case when true then 1 end", "`ELSE` is missing"),
            ("'a'", "a value is missing before `'a'`"),
        ] {
            let why = value(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
        assert!(value(&"(".repeat(10_000)).unwrap_err().contains("too deep"));
    }

    /// Counts of values against the probabilities that the manual gives.
    fn expect_shares(text: &str, (low, high): (i64, i64), probability: impl Fn(f64) -> f64) {
        let expression = parse(text, &[]).unwrap();
        let mut stream = Stream::new(&[11]);
        let draws = 200_000;
        let mut counts = vec![0u32; high.abs_diff(low) as usize + 1];
        for _ in 0..draws {
            let mut event = Event { values: &[], client: 0, random: Some(&mut stream) };
            let drawn = expression.value(&mut event).unwrap().whole().unwrap();
            counts[(drawn - low) as usize] += 1;
        }
        for (value, count) in (low..).zip(counts) {
            let p = probability(value as f64);
            let sigma = (p * (1.0 - p) * f64::from(draws)).sqrt();
            let expected = p * f64::from(draws);
            assert!(
                (f64::from(count) - expected).abs() <= 5.0 * sigma + 1.0,
                "{text}: {value} {count} {expected}"
            );
        }
    }

    /// The distribution function of the normal distribution, by Simpson's rule from -8.
    fn phi(x: f64) -> f64 {
        let (steps, from) = (2000, -8.0);
        let width = (x - from) / f64::from(steps);
        let density = |at: f64| (-at * at / 2.0).exp() / TAU.sqrt();
        let weight = |step| if step == 0 || step == steps { 1.0 } else { f64::from(2 + 2 * (step % 2)) };
        (0..=steps).map(|step| weight(step) * density(from + width * f64::from(step))).sum::<f64>() * width
            / 3.0
    }

    #[test]
    fn distributions_are_those_of_pgbench() {
        let (low, high, parameter) = (5, 24, 2.5);
        let (min, max) = (low as f64, high as f64);
        let count = max - min + 1.0;
        expect_shares("random(5, 24)", (low, high), |_| 1.0 / count);
        let mu = f64::midpoint(min, max);
        let gaussian = |x: f64| phi(2.0 * parameter * (x - mu) / count) / (2.0 * phi(parameter) - 1.0);
        let p = |i: f64| gaussian(i + 0.5) - gaussian(i - 0.5);
        expect_shares("random_gaussian(5, 24, 2.5)", (low, high), p);
        let exponential = |x: f64| (-parameter * (x - min) / count).exp() / (1.0 - (-parameter).exp());
        let p = |i: f64| exponential(i) - exponential(i + 1.0);
        expect_shares("random_exponential(5, 12 * 2, 2.5)", (low, high), p);
        let total: f64 = (1..=20).map(|i| f64::from(i).powf(-parameter)).sum();
        let p = |i: f64| (i - min + 1.0).powf(-parameter) / total;
        expect_shares("random_zipfian(5, 24, 2.5)", (low, high), p);
        expect_shares("random_zipfian(:client_id + 5, 24, 2.5)", (low, high), p);
    }
}
