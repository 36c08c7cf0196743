//! Lists in pages, with `Link`

use http::HeaderValue;

use super::url::Urls;

const DEFAULT: usize = 30;
const MOST: usize = 100;

/// Which part of a list is asked for
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    number: usize,
    size: usize,
}

/// One page and what is needed to walk on
#[derive(Debug)]
pub(super) struct Cut<T> {
    pub(super) rows: Vec<T>,
    pub(super) total: usize,
    pub(super) page: Page,
}

impl Page {
    /// What cannot be read as a number counts as absent
    pub(super) fn from_query(query: &[(String, String)]) -> Self {
        let number = |name| {
            query
                .iter()
                .find(|(key, _)| key == name)
                .and_then(|(_, value)| value.parse::<usize>().ok())
                .filter(|n| *n > 0)
        };
        Self {
            number: number("page").unwrap_or(1),
            size: number("per_page").unwrap_or(DEFAULT).min(MOST),
        }
    }

    pub(super) fn cut<T>(self, all: Vec<T>) -> Cut<T> {
        let total = all.len();
        let rows = all.into_iter().skip(self.start()).take(self.size).collect();
        Cut {
            rows,
            total,
            page: self,
        }
    }

    pub(super) fn start(self) -> usize {
        (self.number - 1).saturating_mul(self.size)
    }

    pub(super) fn size(self) -> usize {
        self.size
    }

    /// `Link` for a list of `total` rows; none when all is on one page
    pub(super) fn link(self, urls: &Urls, path_query: &str, total: usize) -> Option<HeaderValue> {
        let last = total.div_ceil(self.size).max(1);
        let mut parts = Vec::new();
        let mut add = |number: usize, rel: &str| {
            let url = page_url(urls, path_query, number);
            parts.push(format!("<{url}>; rel=\"{rel}\""));
        };
        if self.number > 1 {
            add((self.number - 1).min(last), "prev");
        }
        if self.number < last {
            add(self.number + 1, "next");
            add(last, "last");
        }
        if self.number > 1 {
            add(1, "first");
        }
        if parts.is_empty() {
            return None;
        }
        HeaderValue::from_str(&parts.join(", ")).ok()
    }
}

fn page_url(urls: &Urls, path_query: &str, number: usize) -> String {
    let (path, query) = path_query.split_once('?').unwrap_or((path_query, ""));
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("page="))
        .map(str::to_owned)
        .collect();
    pairs.push(format!("page={number}"));
    format!("{}{path}?{}", urls.api, pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: &str, size: &str) -> Page {
        Page::from_query(&[
            ("page".to_owned(), number.to_owned()),
            ("per_page".to_owned(), size.to_owned()),
        ])
    }

    #[test]
    fn sizes_are_bounded() {
        assert_eq!(page("0", "1000").size(), 100);
        assert_eq!(page("x", "-1").size(), 30);
        assert_eq!(page("3", "10").start(), 20);
    }

    #[test]
    fn links_lead_on_and_back() {
        let urls = Urls::new("http://h/");
        let link = |number, total| {
            page(number, "10")
                .link(&urls, "/x?page=9&state=all", total)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(link("1", 10), None);
        assert_eq!(
            link("1", 11).unwrap(),
            "<http://h/api/v3/x?state=all&page=2>; rel=\"next\", <http://h/api/v3/x?state=all&page=2>; rel=\"last\""
        );
        let last = link("2", 11).unwrap();
        assert!(last.contains("rel=\"prev\"") && last.contains("rel=\"first\""));
        assert!(!last.contains("rel=\"next\""));
    }
}
