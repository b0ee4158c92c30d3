//! The grammar of expressions, by recursive descent. Precedence is that of pgbench: from OR, AND, NOT, comparisons,
//! bits, sums and products to the sign.

use rqps_model::{if_meant, nearest};

use super::{Event, Expression, Function, OPERANDS_MAX, Value, check_exponent, count};
use crate::zipf::Zipf;

/// A variable that every script has.
pub const CLIENT_ID: &str = "client_id";

/// Parentheses, signs and functions within each other.
const DEPTH_MAX: usize = 50;

/// Functions with the numbers of values that they take.
const FUNCTIONS: [(&str, Function, usize, usize); 16] = [
    ("abs", Function::Abs, 1, 1),
    ("double", Function::Double, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, OPERANDS_MAX),
    ("int", Function::Int, 1, 1),
    ("least", Function::Least, 1, OPERANDS_MAX),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Modulo, 2, 2),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
];

/// Parses an expression; `names` are the variables that are set before it.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str, names: &[String]) -> Result<Expression, String> {
    let mut parser = Parser { rest: text.trim_start(), names, depth: 0 };
    let expression = parser.binary(0)?;
    match parser.rest {
        "" => Ok(expression),
        rest => Err(format!("`{rest}` is after the end of the expression")),
    }
}

/// The variable that may be meant by a name that none has. Of names of two letters any two are alike, unless one is the
/// beginning of the other.
pub fn variable_meant<'n>(name: &str, known: &'n [String]) -> Option<&'n str> {
    if name.len() > 2 {
        return nearest(name, known.iter().map(String::as_str).chain([CLIENT_ID]));
    }
    let is_meant =
        |one: &&str| name.len().abs_diff(one.len()) == 1 && (name.starts_with(one) || one.starts_with(name));
    known.iter().map(String::as_str).find(is_meant)
}

struct Parser<'t> {
    rest: &'t str,
    names: &'t [String],
    depth: usize,
}

/// Binary operators by precedence, the weakest first. Of those with one beginning, the longest is first. The flags say
/// whether the operands change places, and whether the result is negated.
type Operator = (&'static str, Function, bool, bool);
const LEVELS: [&[Operator]; 6] = [
    &[("or", Function::Or, false, false)],
    &[("and", Function::And, false, false)],
    &[
        ("<=", Function::LessOrEqual, false, false),
        (">=", Function::LessOrEqual, true, false),
        ("<>", Function::Equal, false, true),
        ("!=", Function::Equal, false, true),
        ("=", Function::Equal, false, false),
        ("<", Function::Less, false, false),
        (">", Function::Less, true, false),
    ],
    &[
        ("<<", Function::ShiftLeft, false, false),
        (">>", Function::ShiftRight, false, false),
        ("|", Function::BitOr, false, false),
        ("#", Function::BitXor, false, false),
        ("&", Function::BitAnd, false, false),
    ],
    &[("+", Function::Add, false, false), ("-", Function::Subtract, false, false)],
    &[
        ("*", Function::Multiply, false, false),
        ("/", Function::Divide, false, false),
        ("%", Function::Modulo, false, false),
    ],
];
/// NOT binds weaker than what is from here on, `~` weaker than sums.
const COMPARISONS: usize = 2;
const SUMS: usize = 4;

impl<'t> Parser<'t> {
    fn binary(&mut self, level: usize) -> Result<Expression, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        if level == COMPARISONS && self.word("not") {
            let operand = self.deeper(|parser| parser.binary(COMPARISONS))?;
            return call(Function::Not, vec![operand]);
        }
        let mut left = self.binary(level + 1)?;
        while let Some((_, function, swapped, negated)) =
            operators.iter().find(|operator| self.operator(operator.0))
        {
            let right = self.binary(level + 1)?;
            let operands = if *swapped { vec![right, left] } else { vec![left, right] };
            left = call(*function, operands)?;
            if *negated {
                left = call(Function::Not, vec![left])?;
            }
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, String> {
        if self.symbol("-") {
            let operand = self.deeper(Self::unary)?;
            return call(Function::Subtract, vec![Expression::Constant(Value::Whole(0)), operand]);
        }
        if self.symbol("+") {
            return self.deeper(Self::unary);
        }
        if self.symbol("~") {
            let operand = self.deeper(|parser| parser.binary(SUMS))?;
            return call(Function::BitNot, vec![operand]);
        }
        if self.symbol("(") {
            let inner = self.deeper(|parser| parser.binary(0))?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.symbol(":") {
            let name = self.name();
            return match self.names.iter().position(|known| known == name) {
                Some(at) => Ok(Expression::Variable(at as u16)),
                None if name == CLIENT_ID => Ok(Expression::ClientId),
                None if name == "scale" => {
                    Err("pgbench has `:scale` from -s: write \\set scale 10 before it".to_owned())
                }
                None => {
                    let meant = variable_meant(name, self.names).map(|near| format!("`:{near}`"));
                    Err(format!("no variable `{name}` is set before{}", if_meant(meant)))
                }
            };
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        self.named()
    }

    /// A constant, CASE, or a function.
    fn named(&mut self) -> Result<Expression, String> {
        let before = self.rest;
        let name = self.name().to_ascii_lowercase();
        match name.as_str() {
            "" if before.is_empty() => return Err("a value is missing at the end".to_owned()),
            "" => return Err(format!("a value is missing before `{before}`")),
            "true" | "false" => return Ok(Expression::Constant(Value::Truth(name == "true"))),
            "case" => return self.deeper(Self::case),
            _ => {}
        }
        let Some((_, function, least, most)) = FUNCTIONS.iter().find(|known| known.0 == name) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|known| known.0).collect();
            return Err(match nearest(&name, known.iter().copied()) {
                Some(meant) => format!("there is no function `{name}`; did you mean `{meant}`?"),
                None => format!("there is no function `{name}`; there are {}", known.join(", ")),
            });
        };
        self.expect("(")?;
        let mut operands = Vec::new();
        while !self.symbol(")") {
            if !operands.is_empty() {
                self.expect(",")?;
            }
            operands.push(self.deeper(|parser| parser.binary(0))?);
        }
        if !(*least..=*most).contains(&operands.len()) {
            let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
            return Err(format!("`{name}` takes {range} values, not {}", operands.len()));
        }
        call(*function, operands)
    }

    /// After CASE.
    fn case(&mut self) -> Result<Expression, String> {
        let mut cases = Vec::new();
        while self.word("when") {
            let condition = self.binary(0)?;
            self.expect_word("THEN")?;
            cases.push((condition, self.binary(0)?));
        }
        self.expect_word("ELSE")?;
        let otherwise = self.binary(0)?;
        self.expect_word("END")?;
        Ok(Expression::Case(cases, Box::new(otherwise)))
    }

    /// A whole number, which may have `_` between digits, or one with a fraction or an exponent.
    fn number(&mut self) -> Result<Expression, String> {
        let is_digit = |c: char| c.is_ascii_digit() || c == '_';
        let digits = |text: &str| text.find(|c| !is_digit(c)).unwrap_or(text.len());
        let mut end = digits(self.rest);
        let mut is_whole = true;
        if self.rest[end..].starts_with('.') {
            end += 1 + digits(&self.rest[end + 1..]);
            is_whole = false;
        }
        if let Some(exponent) = self.rest[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let length = digits(&exponent[sign..]);
            if length > 0 {
                end += 1 + sign + length;
                is_whole = false;
            }
        }
        let text = self.rest[..end].replace('_', "");
        self.advance(end);
        let value = match is_whole {
            true => text.parse().map(Value::Whole).map_err(|_| format!("{text} does not fit into 64 bits")),
            false => text.parse().map(Value::Double).map_err(|_| format!("`{text}` is not a number")),
        };
        value.map(Expression::Constant)
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("the expression is too deep: {DEPTH_MAX} levels at most"));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn advance(&mut self, length: usize) {
        self.rest = self.rest[length..].trim_start();
    }

    /// The word that is next; may be empty.
    fn name(&mut self) -> &'t str {
        let rest = self.rest;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.advance(end);
        &rest[..end]
    }

    fn operator(&mut self, text: &str) -> bool {
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) { self.word(text) } else { self.symbol(text) }
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let after = self.rest.strip_prefix(symbol);
        // `<` is not the beginning of `<<`.
        let found = after.is_some_and(|after| !(["<", ">"].contains(&symbol) && after.starts_with(symbol)));
        if found {
            self.advance(symbol.len());
        }
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let before = self.rest;
        let found = self.name().eq_ignore_ascii_case(word);
        if !found {
            self.rest = before;
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.missing(symbol)) }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), String> {
        if self.word(word) { Ok(()) } else { Err(self.missing(word)) }
    }

    fn missing(&self, what: &str) -> String {
        match self.rest {
            "" => format!("`{what}` is missing at the end"),
            rest => format!("`{what}` is missing before `{rest}`"),
        }
    }
}

/// A call, or its value if that is always the same.
fn call(function: Function, operands: Vec<Expression>) -> Result<Expression, String> {
    let constant = |operand: &Expression| match operand {
        Expression::Constant(value) => Some(*value),
        _ => None,
    };
    let constants = operands.iter().map(constant).collect::<Option<Vec<Value>>>();
    let draws = [Function::Random, Function::RandomExponential, Function::RandomGaussian];
    match (function, constants) {
        (Function::RandomZipfian, Some(values)) => {
            let (low, exponent) = (values[0].whole()?, values[2].double()?);
            let count = count(low, values[1].whole()?)?;
            check_exponent(exponent)?;
            Ok(Expression::Zipf(low, Box::new(Zipf::new(count, exponent))))
        }
        // An error in a branch that is not taken is none.
        (_, Some(_)) if !draws.contains(&function) => {
            let call = Expression::Call(function, operands);
            let value = call.value(&mut Event { values: &[], client: 0, random: None });
            Ok(value.map_or(call, Expression::Constant))
        }
        _ => Ok(Expression::Call(function, operands)),
    }
}
