//! Lists in parts

use serde::Serialize;

/// Which part of a list is wanted; the forge may give fewer rows than `limit`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// From 1
    pub number: u32,
    pub limit: u32,
}

impl Page {
    pub fn new(number: u32, limit: u32) -> Self {
        Self {
            number: number.max(1),
            limit: limit.max(1),
        }
    }

    pub fn first(limit: u32) -> Self {
        Self::new(1, limit)
    }

    /// Returns the number of the next page; `None` if it does not fit into a `u32`
    pub(crate) fn next(self) -> Option<u32> {
        self.number.checked_add(1)
    }
}

impl Default for Page {
    fn default() -> Self {
        Self::first(30)
    }
}

/// One part of a list
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listing<T> {
    pub items: Vec<T>,
    /// The page to ask for next; absent when this was the last
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// How many there are in all, where the forge tells
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

impl<T> Listing<T> {
    /// Cut one page out of a list that is here whole
    pub fn of_all(all: Vec<T>, page: Page) -> Self {
        let total = all.len();
        let start = (page.number as usize - 1).saturating_mul(page.limit as usize);
        let items: Vec<T> = all
            .into_iter()
            .skip(start)
            .take(page.limit as usize)
            .collect();
        let more = start + items.len() < total && !items.is_empty();
        let next_page = more.then(|| page.next()).flatten();
        Self {
            items,
            next_page,
            total: Some(total as u64),
        }
    }
}
