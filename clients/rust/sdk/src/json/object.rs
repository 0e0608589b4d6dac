use std::borrow::Cow;
use std::collections::HashMap;

use super::Json;

/// An object. Its members keep their order, and each is there once.
#[derive(Clone, Debug, Default)]
pub struct Object<'a> {
    members: Vec<(Cow<'a, str>, Json<'a>)>,
    sorted: bool, // the names ascend, as those of canonical JSON do but for some rare characters
}

impl<'a> Object<'a> {
    /// Takes members in their order. `Err` gives the name of one that is there twice.
    pub(super) fn of(members: Vec<(Cow<'a, str>, Json<'a>)>) -> Result<Self, Cow<'a, str>> {
        let sorted = members.is_sorted_by(|(a, _), (b, _)| a < b);
        if !sorted {
            let mut order: Vec<usize> = (0..members.len()).collect();
            order.sort_by_key(|i| &members[*i].0); // stable: of two that are equal the second stays behind
            if let Some(twice) = order.windows(2).find(|w| members[w[0]].0 == members[w[1]].0) {
                return Err(members[twice[1]].0.clone());
            }
        }
        Ok(Self { members, sorted })
    }

    /// Gives a member by its exact name; `None` where there is none. One that is null is [`Json::Null`].
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        if self.sorted && self.members.len() > 8 {
            let at = self.members.binary_search_by(|(own, _)| own.as_ref().cmp(name)).ok()?;
            return Some(&self.members[at].1);
        }
        self.members.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Gives the members in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json<'a>)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// Gives how many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Says whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl<'a, K: Into<Cow<'a, str>>, V: Into<Json<'a>>> FromIterator<(K, V)> for Object<'a> {
    /// Collects members. As in a map, the last of two with one name replaces the first.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let mut members: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
        let mut at: HashMap<Cow<'a, str>, usize> = HashMap::new();
        for (name, value) in iter {
            let name = name.into();
            match at.get(&name) {
                Some(i) => members[*i].1 = value.into(),
                None => {
                    at.insert(name.clone(), members.len());
                    members.push((name, value.into()));
                }
            }
        }
        let sorted = members.is_sorted_by(|(a, _), (b, _)| a < b);
        Self { members, sorted }
    }
}
