//! People, organisations and their tokens

use blue_base::secret::Secret;

use super::{Error, Result, What};
use crate::{
    app::App,
    auth,
    store::users::{self, NewUser, Token, User},
};

pub(crate) fn find(app: &App, login: &str) -> Result<User> {
    let found = app.store.read(|c| users::by_login(c, login))?;
    found.ok_or_else(|| Error::NotFound(What::User(login.to_owned())))
}

pub(crate) fn by_id(app: &App, id: i64) -> Result<Option<User>> {
    Ok(app.store.read(|c| users::by_id(c, id))?)
}

/// What a new person is
#[derive(Debug, Clone)]
pub(crate) struct Person<'a> {
    pub(crate) login: &'a str,
    pub(crate) full_name: &'a str,
    pub(crate) email: &'a str,
    pub(crate) password: &'a str,
    pub(crate) admin: bool,
}

pub(crate) fn create(app: &App, person: &Person<'_>) -> Result<User> {
    check_login(person.login)?;
    let salt = app.random_hex(8);
    let hash = auth::hash_password(&salt, person.password);
    app.store.write(|tx| {
        if users::by_login(tx, person.login)?.is_some() {
            return Err(Error::Exists(What::User(person.login.to_owned())));
        }
        let new = NewUser {
            login: person.login,
            full_name: person.full_name,
            email: person.email,
            salt: &salt,
            password_hash: &hash,
            is_admin: person.admin,
            ..NewUser::default()
        };
        let id = users::insert(tx, &new, app.now())?;
        Ok(users::by_id(tx, id)?.expect("just written"))
    })
}

/// Make an organisation with its first owner
pub(crate) fn create_org(
    app: &App,
    owner: &User,
    login: &str,
    full_name: &str,
    description: &str,
    visibility: &str,
) -> Result<User> {
    check_login(login)?;
    app.store.write(|tx| {
        if users::by_login(tx, login)?.is_some() {
            return Err(Error::Exists(What::User(login.to_owned())));
        }
        let new = NewUser {
            login,
            is_org: true,
            full_name,
            description,
            visibility,
            ..NewUser::default()
        };
        let id = users::insert(tx, &new, app.now())?;
        users::set_role(tx, id, owner.id, "owner")?;
        Ok(users::by_id(tx, id)?.expect("just written"))
    })
}

/// Make a personal token; its value is returned once and never kept
pub(crate) fn create_token(
    app: &App,
    user: &User,
    name: &str,
    scopes: &str,
) -> Result<(Token, Secret)> {
    let value = app.random_hex(20);
    let token = app.store.write(|tx| {
        if users::tokens_of(tx, user.id)?
            .iter()
            .any(|token| token.name == name)
        {
            return Err(Error::Exists(What::Token));
        }
        let hash = auth::hash_token(&value);
        users::insert_token(tx, user.id, name, &hash, &value[32..], scopes, app.now())?;
        Ok(users::token_by_hash(tx, &hash)?.expect("just written"))
    })?;
    Ok((token, Secret::new(value)))
}

/// Make a person with a password and an all-scopes token that are shown when the sandbox starts
pub(crate) fn hand_out(app: &App, login: &str, admin: bool) -> Result<User> {
    let password = format!("{login}-{}", app.random_hex(6));
    let email = format!("{login}@example.org");
    let user = create(
        app,
        &Person {
            login,
            full_name: "",
            email: &email,
            password: &password,
            admin,
        },
    )?;
    let (_, token) = create_token(app, &user, "sandbox", "all")?;
    app.store
        .write(|tx| users::hand_out(tx, user.id, &password, token.expose()))?;
    Ok(user)
}

fn check_login(login: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let edges = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let good = login.chars().all(plain)
        && login.len() <= 40
        && login.starts_with(edges)
        && login.ends_with(edges)
        && !["api", "user", "admin-api", "login", "assets"]
            .contains(&login.to_lowercase().as_str());
    if good {
        Ok(())
    } else {
        Err(Error::BadName {
            name: login.to_owned(),
        })
    }
}
