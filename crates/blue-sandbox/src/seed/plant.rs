//! Make what a seed file says

use std::{collections::HashMap, fs};

use super::{
    format::{self, File},
    repository,
};
use crate::{
    app::App,
    auth::hash_token,
    ops,
    store::users::{self, User},
};

/// Everyone the file names, by login
pub(super) type People = HashMap<String, User>;

/// Remove what an earlier attempt left
pub(super) fn clear(app: &App) -> ops::Result<()> {
    let left = app.store.write(|c| {
        let left = c.execute("DELETE FROM users", [])?;
        c.execute(
            "DELETE FROM sqlite_sequence WHERE name IN ('users', 'repos')",
            [],
        )?;
        Ok::<_, rusqlite::Error>(left)
    })?;
    if left > 0 {
        fs::remove_dir_all(app.dir.join("repos"))?;
        fs::create_dir_all(app.dir.join("repos"))?;
    }
    Ok(())
}

pub(super) fn plant(app: &App, file: &File) -> Result<(), String> {
    let mut people = People::new();
    let mut handed_out = Vec::new();
    for user in &file.users {
        let at = |error: String| format!("user `{}`: {error}", user.login);
        let (made, password, token) = person(app, user).map_err(at)?;
        handed_out.push((made.id, password, token));
        people.insert(user.login.clone(), made);
    }
    for org in &file.orgs {
        organisation(app, org, &people)
            .map_err(|error| format!("organisation `{}`: {error}", org.name))?;
    }
    for one in &file.repositories {
        repository::make(app, one, &people)
            .map_err(|error| format!("repository `{}/{}`: {error}", one.owner, one.name))?;
    }
    let written = app.store.write(|c| {
        for (id, password, token) in &handed_out {
            users::hand_out(c, *id, password, token)?;
        }
        Ok::<_, rusqlite::Error>(())
    });
    written.map_err(|error| error.to_string())
}

pub(super) fn someone<'a>(people: &'a People, login: &str) -> Result<&'a User, String> {
    people
        .get(login)
        .ok_or_else(|| format!("there is no user `{login}`"))
}

fn person(app: &App, user: &format::User) -> Result<(User, String, String), String> {
    let password = user
        .password
        .clone()
        .unwrap_or_else(|| format!("{}-password", user.login));
    let token = user.token.clone().unwrap_or_else(|| app.random_hex(20));
    if token.len() < 8 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("`token` needs at least 8 plain characters".to_owned());
    }
    let made = ops::users::create(
        app,
        &ops::users::Person {
            login: &user.login,
            full_name: &user.full_name,
            email: &user
                .email
                .clone()
                .unwrap_or_else(|| format!("{}@example.org", user.login)),
            password: &password,
            admin: user.admin,
        },
    )
    .map_err(|error| error.to_string())?;
    let last_eight = &token[token.len() - 8..];
    let hash = hash_token(&token);
    app.store
        .write(|c| users::insert_token(c, made.id, "sandbox", &hash, last_eight, "all", app.now()))
        .map_err(|error: rusqlite::Error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::ConstraintViolation) => {
                "the same `token` as another user".to_owned()
            }
            _ => error.to_string(),
        })?;
    Ok((made, password, token))
}

fn organisation(app: &App, org: &format::Org, people: &People) -> Result<(), String> {
    let [first, rest @ ..] = org.owners.as_slice() else {
        return Err("`owners` must name somebody".to_owned());
    };
    let owner = someone(people, first)?;
    let made = ops::users::create_org(
        app,
        owner,
        &org.name,
        &org.full_name,
        &org.description,
        "public",
    )
    .map_err(|error| error.to_string())?;
    let mut roles = Vec::new();
    for login in rest {
        roles.push((someone(people, login)?.id, "owner"));
    }
    for (login, permission) in &org.members {
        roles.push((someone(people, login)?.id, permission.name()));
    }
    let written = app.store.write(|c| {
        roles
            .iter()
            .try_for_each(|(id, role)| users::set_role(c, made.id, *id, role))
    });
    written.map_err(|error: rusqlite::Error| error.to_string())
}
