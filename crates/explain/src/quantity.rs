//! A figure on two arms, its difference, and the noise of that difference.

use rqps_stats::t_upper;

const CONFIDENCE: f64 = 0.99;
/// A single pass does not show its noise, so differences below this share are not reported.
const SINGLE_PASS_SHARE: f64 = 0.10;
/// Factor between two arms whose waits differ although their interval is wide, and whose CPU times do in a single pass.
pub(crate) const APART: f64 = 2.0;
/// Smallest share of change that is reported: the minimum effect of interest of rates.
pub(crate) const MATERIAL_SHARE: f64 = 0.02;
/// A cause explains a change of CPU time only if its own quantity changed by at least this share of that change.
pub(crate) const DRIVES: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quantity {
    /// Mean over blocks on base.
    pub base: f64,
    /// Mean over the same blocks on the arm.
    pub arm: f64,
    /// Half width of the 99 % interval of the difference; NaN if unknown.
    pub half_width: f64,
    /// Number of blocks; 1 in a single pass.
    pub blocks: usize,
}

impl Quantity {
    pub fn change(&self) -> f64 {
        self.arm - self.base
    }

    /// Arm over base; infinite if base is 0.
    pub fn ratio(&self) -> f64 {
        self.arm / self.base
    }

    pub fn rose(&self) -> bool {
        self.arm > self.base
    }

    /// The change as a share of the larger value; 1 if one of them is 0.
    pub fn share(&self) -> f64 {
        relative_change(self.base, self.arm)
    }

    /// Whether a CPU time that tells of work, and depends on the host too, differs too little for a single pass.
    pub fn may_be_the_hosts(&self) -> bool {
        self.half_width.is_nan() && self.base.max(self.arm) < APART * self.base.min(self.arm)
    }

    /// Whether the difference exceeds noise; in a single pass, whether it is large.
    pub fn exceeds_noise(&self) -> bool {
        if self.half_width.is_nan() {
            self.share() >= SINGLE_PASS_SHARE
        } else {
            self.change().abs() > self.half_width
        }
    }

    /// Whether the difference exceeds noise and is large enough to report.
    pub fn matters(&self) -> bool {
        self.exceeds_noise() && self.share() >= MATERIAL_SHARE
    }

    /// Half width of the interval as a share of the larger value, as [`Self::share`]; `None` if unknown.
    pub fn noise(&self) -> Option<f64> {
        let noise = self.half_width / self.base.abs().max(self.arm.abs());
        noise.is_finite().then_some(noise)
    }

    /// From 0 (at the edge of noise) to 1 (far beyond it).
    pub fn clearness(&self) -> f64 {
        match self.half_width.is_nan() {
            true => self.share(),
            false if self.half_width <= 0.0 => 1.0,
            false => 1.0 - (self.half_width / self.change().abs()).min(1.0),
        }
    }
}

/// The change as a share of the larger value; 1 if one of them is 0.
pub(crate) fn relative_change(base: f64, arm: f64) -> f64 {
    let larger = base.abs().max(arm.abs());
    if larger > 0.0 { (arm - base).abs() / larger } else { 0.0 }
}

/// Combines each block's values of base, arm and control. None if no block has both base and arm.
pub(crate) fn quantity(blocks: &[[Option<f64>; 3]], replicated: bool) -> Option<Quantity> {
    let pairs: Vec<(f64, f64)> =
        blocks.iter().filter_map(|[base, arm, _]| Some(((*base)?, (*arm)?))).collect();
    if pairs.is_empty() {
        return None;
    }
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / pairs.len() as f64;
    let own: Vec<f64> = pairs.iter().map(|(base, arm)| arm - base).collect();
    let null: Vec<f64> =
        blocks.iter().filter_map(|[base, _, control]| Some((*control)? - (*base)?)).collect();
    Some(Quantity {
        base: mean(&mut pairs.iter().map(|(base, _)| *base)),
        arm: mean(&mut pairs.iter().map(|(_, arm)| *arm)),
        half_width: if replicated { half_width(&own, &null) } else { f64::NAN },
        blocks: pairs.len(),
    })
}

/// Half width of the t interval of the mean of `own`. The variance is pooled over `own` about its mean and
/// `null` about 0, the control's true difference. NaN if there are fewer than two own blocks.
pub(crate) fn half_width(own: &[f64], null: &[f64]) -> f64 {
    if own.len() < 2 {
        return f64::NAN;
    }
    let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
    let squares = own.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        + null.iter().map(|value| value.powi(2)).sum::<f64>();
    let freedom = (own.len().saturating_sub(1) + null.len()) as f64;
    t_upper((1.0 - CONFIDENCE) / 2.0, freedom) * (squares / freedom / own.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_of_the_control_widens_the_interval() {
        let quiet = [[Some(1.0), Some(1.1), Some(1.0)]; 4];
        assert!(quantity(&quiet, true).unwrap().matters());
        let noisy: Vec<_> =
            [0.7, 1.3, 0.8, 1.4].map(|control| [Some(1.0), Some(1.1), Some(control)]).to_vec();
        assert!(!quantity(&noisy, true).unwrap().exceeds_noise());
    }

    #[test]
    fn single_pass_has_no_interval_and_needs_a_large_difference() {
        let pass = |arm: f64| quantity(&[[Some(1.0), Some(arm), None]], false).unwrap();
        assert!(pass(1.05).half_width.is_nan());
        assert!(!pass(1.05).exceeds_noise() && pass(1.2).exceeds_noise() && pass(0.8).exceeds_noise());
        let block = quantity(&[[Some(1.0), Some(1.05), None]], true).unwrap();
        assert!(!block.exceeds_noise(), "one block is one pass: {block:?}");
        let with_control = quantity(&[[Some(1.0), Some(1.05), Some(1.001)]], true).unwrap();
        assert!(with_control.half_width.is_nan(), "also with a control that is like base: {with_control:?}");
    }

    #[test]
    fn noise_below_the_change_is_below_its_share() {
        let found = Quantity { base: 301.0, arm: 6181.0, half_width: 3400.0, blocks: 3 };
        assert!(found.exceeds_noise() && found.noise().unwrap() < found.share());
    }

    #[test]
    fn half_width_matches_tables_of_students_t() {
        // t of 3 degrees of freedom at 0.995 is 5.8409 (tables); the standard deviation of 1, 2, 3, 4 is 1.2910.
        let found = half_width(&[1.0, 2.0, 3.0, 4.0], &[]);
        assert!((found - 5.8409 * 1.290_99 / 2.0).abs() < 1e-3, "{found}");
    }
}
