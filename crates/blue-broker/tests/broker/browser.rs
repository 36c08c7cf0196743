//! A browser as far as a sign-in needs one: cookies, forms, redirects, pages that go on

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder, StatusCode, header::HeaderMap};
use url::{Url, form_urlencoded};

use crate::setup::Setup;

/// Cookies of one person's browser; broker and forge are the same host, as cookies see it
#[derive(Debug, Default)]
pub(crate) struct Browser {
    pub(crate) cookies: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Page {
    /// Where the browser goes by itself from here
    pub(crate) fn next(&self) -> Option<Url> {
        let header = self.headers.get("location").map(|to| to.to_str().unwrap());
        let (_, rest) = match header {
            Some(to) => return Some(self.url.join(to).unwrap()),
            None => self.body.split_once("content=\"0;url=")?,
        };
        let to = rest.split('"').next().unwrap().replace("&amp;", "&");
        Some(Url::parse(&to).unwrap())
    }

    /// Hidden inputs of the page
    pub(crate) fn hidden(&self) -> Vec<(String, String)> {
        let attribute = |tag: &str, name: &str| {
            let (_, rest) = tag.split_once(&format!("{name}=\""))?;
            Some(rest.split('"').next()?.replace("&amp;", "&"))
        };
        let tags = self.body.split("<input ").skip(1);
        tags.map(|rest| rest.split('>').next().unwrap())
            .filter(|tag| tag.contains("type=\"hidden\""))
            .filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value")?)))
            .collect()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn says(&self, words: &str) -> &Self {
        assert!(self.body.contains(words), "no `{words}` in {}", self.body);
        self
    }
}

/// A parameter of an address
pub(crate) fn param(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
}

impl Browser {
    pub(crate) async fn get(&mut self, setup: &Setup, url: &str) -> Page {
        self.send(setup.http.request(Method::GET, url)).await
    }

    /// Post a form from a page of the same origin
    pub(crate) async fn post(&mut self, setup: &Setup, url: &str, form: &[(&str, &str)]) -> Page {
        let origin = Url::parse(url).unwrap().origin().ascii_serialization();
        let headers = [
            ("origin", origin.as_str()),
            ("sec-fetch-site", "same-origin"),
        ];
        self.post_with(setup, url, form, &headers).await
    }

    pub(crate) async fn post_with(
        &mut self,
        setup: &Setup,
        url: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Page {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let kind = "application/x-www-form-urlencoded";
        let request = setup.http.post(url).header("content-type", kind).body(body);
        let add =
            |request: RequestBuilder, (name, value): &(&str, &str)| request.header(*name, *value);
        self.send(headers.iter().fold(request, add)).await
    }

    async fn send(&mut self, request: RequestBuilder) -> Page {
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        let answer = request.header("cookie", cookies.join("; ")).send().await;
        let answer = answer.unwrap();
        for line in answer.headers().get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            if line.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        Page {
            status: answer.status(),
            url: answer.url().clone(),
            headers: answer.headers().clone(),
            body: answer.text().await.unwrap(),
        }
    }

    /// Go on as long as pages lead to the broker or the forge, and sign in where that is asked
    pub(crate) async fn follow(&mut self, setup: &Setup, mut page: Page, login: &str) -> Page {
        let forge = &setup.forge;
        let broker = Url::parse(&setup.at("/")).unwrap();
        for _ in 0..20 {
            page = match page.next() {
                Some(next) if [forge.origin(), broker.origin()].contains(&next.origin()) => {
                    self.get(setup, next.as_str()).await
                }
                None if page.url.path() == "/user/login" => {
                    let password = setup.password(login);
                    let hidden = page.hidden();
                    let mut form = pairs(&hidden);
                    form.extend([("user_name", login), ("password", &password)]);
                    self.post(setup, page.url.as_str(), &form).await
                }
                None if page.url.path() == "/login/oauth/authorize" && page.status == 200 => {
                    let grant = forge.join("/login/oauth/grant").unwrap();
                    let hidden = page.hidden();
                    let mut form = pairs(&hidden);
                    form.push(("granted", "true"));
                    self.post(setup, grant.as_str(), &form).await
                }
                _ => return page,
            };
        }
        panic!("no end: {page:?}");
    }

    /// The page that asks, for a good request of the client `tool`
    pub(crate) async fn asked(&mut self, setup: &Setup, query: &str) -> Page {
        let page = self
            .get(setup, &setup.at(&format!("/oauth/authorize?{query}")))
            .await;
        assert_eq!(page.status, 303, "{page:?}");
        let next = page.next().unwrap();
        assert_eq!(next.path(), "/oauth/consent", "{next}");
        let page = self.get(setup, next.as_str()).await;
        assert_eq!(page.status, 200, "{page:?}");
        page
    }

    /// Answer the page that asks
    pub(crate) async fn answer(&mut self, setup: &Setup, asked: &Page, answer: &str) -> Page {
        let hidden = asked.hidden();
        let mut form = pairs(&hidden);
        form.push(("answer", answer));
        self.post(setup, &setup.at("/oauth/consent"), &form).await
    }

    /// A whole sign-in; returns the URL at which the client is called in the end
    pub(crate) async fn sign_in(&mut self, setup: &Setup, query: &str, login: &str) -> Url {
        let asked = self.asked(setup, query).await;
        let page = self.answer(setup, &asked, "approve").await;
        let page = self.follow(setup, page, login).await;
        page.next().unwrap_or_else(|| panic!("{page:?}"))
    }
}

pub(crate) fn pairs(form: &[(String, String)]) -> Vec<(&str, &str)> {
    form.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect()
}
