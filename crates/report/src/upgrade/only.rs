//! Options of the config that only one of the two versions was measured with, beside the causes of differences.

use rqps_explain::renamed::set_as;
use rqps_explain::{can_act, has_by_default, is_in_config, is_of_developers};
use rqps_model::{LeftOut, clipped};

use super::{NAMES_MAX, Upgrade, product};
use crate::document::Block;
use crate::words;

/// The longest value that is told.
const VALUE_MAX: usize = 40;

impl Upgrade<'_, '_> {
    /// Those that can make a difference to tests.
    pub(super) fn only_one_had(&self) -> Option<Block> {
        let (old, new) = (self.old_arm(), self.new_arm());
        let sides = [(old, new), (new, old)].into_iter().filter_map(|(with, without)| {
            let is_one_sided = |left: &&LeftOut| {
                let is_of_both = with.left_out.iter().any(|other| other.option == left.option);
                left.taken.is_none()
                    && !is_of_both
                    && can_act(&left.option)
                    && !is_of_developers(&left.option)
                    && is_in_config(&with.config_text, &left.option)
                    && !has_by_default(with, &left.option)
                    && set_as(without, &left.option).is_none()
                    && self.replacement(left).is_none()
            };
            let line = |left: &LeftOut| format!("{} = {}", left.option, clipped(&left.value, VALUE_MAX));
            let options: Vec<String> = without.left_out.iter().filter(is_one_sided).map(line).collect();
            (!options.is_empty())
                .then(|| format!("{} was measured with {}", product(with), words::names(&options, NAMES_MAX)))
        });
        let sides: Vec<String> = sides.collect();
        (!sides.is_empty()).then(|| {
            let sides = sides.join(", only ");
            Block::Text(format!(
                "Only {sides} of the config: these options can be a cause of differences, too."
            ))
        })
    }
}
