//! Lists in pages
//!
//! Only numbers are taken from `Link`: its URLs may name a host that must not get the token.

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;

use super::{Answer, Call};
use crate::{
    Result,
    model::{Listing, Page},
};

/// Pages asked for at once
const AT_ONCE: u32 = 6;
/// A list longer than this many pages has no end
const MAX_PAGES: u32 = 5_000;

/// The rows of one answer, and how many there are in all if its body tells
pub(crate) type Rows<T> = (Vec<T>, Option<u64>);

impl Call<'_> {
    /// One page of a plain list; `cap` is the most that the server gives at once
    pub(crate) async fn page<T: DeserializeOwned>(
        self,
        page: Page,
        cap: u32,
    ) -> Result<Listing<T>> {
        self.page_of(page, cap, |answer| Ok((answer.list()?, None)))
            .await
    }

    /// One page of a list that `rows` finds in the answer
    pub(crate) async fn page_of<T>(
        self,
        page: Page,
        cap: u32,
        rows: impl Fn(&Answer) -> Result<Rows<T>>,
    ) -> Result<Listing<T>> {
        let always_links = self.rest.paging.always_links;
        let page = Page::new(page.number, page.limit.min(cap.max(1)));
        let answer = self.numbered(page).send().await?;
        let (items, total) = rows(&answer)?;
        let mut seen = Seen::of(&answer, total);
        // Of pages with one row each, the last one is the number of rows.
        if page.limit == 1 {
            seen.total = seen.total.or(seen.last.map(u64::from));
        }
        let next = seen.next.or_else(|| {
            let more = match seen.total {
                Some(total) => u64::from(page.number) * u64::from(page.limit) < total,
                None => !seen.linked && !always_links && items.len() >= page.limit as usize,
            };
            (more && !items.is_empty()).then(|| page.next()).flatten()
        });
        // The last page ends the count, where every page before it was full.
        if always_links && next.is_none() && (page.number == 1 || !items.is_empty()) {
            let before = u64::from(page.number - 1) * u64::from(page.limit);
            seen.total = seen.total.or(Some(before + items.len() as u64));
        }
        Ok(Listing {
            items,
            next_page: next,
            total: seen.total,
        })
    }

    /// The whole list: pages of the server's largest size, all after the first at once
    pub(crate) async fn all<T: DeserializeOwned>(self, cap: u32) -> Result<Vec<T>> {
        self.all_of(cap, |answer| Ok((answer.list()?, None))).await
    }

    /// The whole list that `rows` finds in the answers
    pub(crate) async fn all_of<T>(
        self,
        cap: u32,
        rows: impl Fn(&Answer) -> Result<Rows<T>>,
    ) -> Result<Vec<T>> {
        let cap = cap.max(1);
        let answer = self.clone().numbered(Page::first(cap)).send().await?;
        let (mut all, total) = rows(&answer)?;
        let seen = Seen::of(&answer, total);
        if all.is_empty() && seen.next.is_none() && seen.total.is_none_or(|t| t == 0) {
            return Ok(all);
        }
        let all_here = seen.total.is_none_or(|t| all.len() as u64 >= t);
        if seen.next.is_none() && !seen.linked && self.rest.paging.always_links && all_here {
            return Ok(all);
        }
        let last = seen.last(cap).min(MAX_PAGES);
        let (rest, mut ended) = self.span(2, last, cap, &rows).await?;
        all.extend(rest);
        // Rows may be missing although every announced page is here: the server's pages can be
        // smaller than was asked for, or nothing told how many there are.
        let complete = |have: usize| match seen.total {
            Some(total) => have as u64 >= total,
            None => seen.linked && (seen.last.is_some() || seen.next.is_none()),
        };
        let mut from = last + 1;
        let mut width = 1;
        while !ended && !complete(all.len()) && from <= MAX_PAGES {
            let to = from + width - 1;
            let (rest, end) = self.span(from, to, cap, &rows).await?;
            all.extend(rest);
            ended = end;
            from = to + 1;
            width = AT_ONCE;
        }
        Ok(all)
    }

    /// Several pages at once; also whether one of them was empty
    async fn span<T>(
        &self,
        from: u32,
        to: u32,
        cap: u32,
        rows: &impl Fn(&Answer) -> Result<Rows<T>>,
    ) -> Result<(Vec<T>, bool)> {
        let pages: Vec<Vec<T>> = stream::iter(from..=to)
            .map(|number| {
                let call = self.clone().numbered(Page::new(number, cap));
                async move { rows(&call.send().await?).map(|(items, _)| items) }
            })
            .buffered(AT_ONCE as usize)
            .try_collect()
            .await?;
        let ended = pages.last().is_some_and(Vec::is_empty);
        Ok((pages.into_iter().flatten().collect(), ended))
    }

    fn numbered(self, page: Page) -> Self {
        let size = self.rest.paging.size;
        self.query("page", page.number).query(size, page.limit)
    }
}

/// What the headers of one page tell about the others
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Seen {
    pub(super) linked: bool,
    pub(super) next: Option<u32>,
    pub(super) last: Option<u32>,
    pub(super) total: Option<u64>,
}

impl Seen {
    fn of(answer: &Answer, total: Option<u64>) -> Self {
        let header = |name| answer.header(name).and_then(|v| v.trim().parse().ok());
        let mut seen = Self {
            total: header("x-total-count").or(total),
            ..Self::default()
        };
        for value in answer.headers.get_all("link") {
            if let Ok(value) = value.to_str() {
                seen.read_link(value);
            }
        }
        seen
    }

    /// Read `<URL>; rel="next", <URL>; rel="last"`
    pub(super) fn read_link(&mut self, value: &str) {
        for part in value.split('<').skip(1) {
            let Some((url, params)) = part.split_once('>') else {
                continue;
            };
            let Some(number) = page_number(url) else {
                continue;
            };
            self.linked = true;
            match rel(params) {
                Some("next") => self.next = Some(number),
                Some("last") => self.last = Some(number),
                _ => {}
            }
        }
    }

    /// The last page that there is any sign of
    fn last(&self, limit: u32) -> u32 {
        let by_total = self
            .total
            .map(|t| u32::try_from(t.div_ceil(u64::from(limit))).unwrap_or(u32::MAX));
        [Some(1), self.next, self.last, by_total]
            .into_iter()
            .flatten()
            .max()
            .unwrap_or(1)
    }
}

fn rel(params: &str) -> Option<&str> {
    params.split(';').find_map(|p| {
        let (key, value) = p.split_once('=')?;
        (key.trim() == "rel").then(|| value.trim().trim_end_matches(',').trim().trim_matches('"'))
    })
}

/// `page` in the query of a URL of whatever host, absolute or not
fn page_number(url: &str) -> Option<u32> {
    let query = url.split_once('?')?.1;
    let query = query.split('#').next().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(key, _)| key == "page")
        .and_then(|(_, value)| value.parse().ok())
        .filter(|n| *n > 0)
}
