//! Enums that files and databases store as words, readable without this program.

/// Defines an enum whose variants are serialized, printed and parsed as the given words.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),+
        }

        impl $name {
            /// All variants, in order of declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word in files and on the command line.
            pub fn key(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.key())
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.key())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                let word = <String as $crate::serde::Deserialize>::deserialize(deserializer)?;
                word.parse().map_err(<D::Error as $crate::serde::de::Error>::custom)
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> std::result::Result<Self, String> {
                Self::ALL.into_iter().find(|one| one.key() == word).ok_or_else(|| {
                    format!("{word:?} is unknown; there are: {}", Self::ALL.map(Self::key).join(", "))
                })
            }
        }
    };
}
