use std::path::Path;

use super::*;

fn given(vars: &[(&str, &str)]) -> Given {
    let vars = vars.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    Given {
        vars: vars.collect(),
        cwd: PathBuf::from("/somewhere"),
        ..Given::default()
    }
}

const ENOUGH: &[(&str, &str)] = &[
    ("BLUE_BROKER_PUBLIC_URL", "https://mcp.example.org"),
    ("BLUE_BROKER_FORGE_URL", "https://git.example.org/forge"),
    ("BLUE_BROKER_CLIENT_ID", "abc"),
    ("BLUE_BROKER_CLIENT_SECRET", "gto_hunter2"),
];

fn with(more: &[(&str, &str)]) -> Given {
    given(&[ENOUGH, more].concat())
}

fn read(given: &Given) -> Result<Config, Faults> {
    Config::read(given, Path::new("/data"))
}

fn faults(given: &Given) -> Vec<String> {
    let faults = read(given).unwrap_err();
    faults.0.iter().map(ToString::to_string).collect()
}

fn file(text: &str) -> File {
    File {
        path: PathBuf::from("/etc/broker.toml"),
        text: Ok(text.to_owned()),
    }
}

#[test]
fn defaults_are_right() {
    let config = read(&with(&[])).unwrap();
    assert_eq!(config.public_url.origin(), "https://mcp.example.org");
    assert_eq!(config.public_url.resource(), "https://mcp.example.org/mcp");
    assert_eq!(
        config.forge.at("login/oauth/authorize").as_str(),
        "https://git.example.org/forge/login/oauth/authorize"
    );
    assert_eq!(config.forge_name, "git.example.org");
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.database, Database::Sqlite("/data/broker.db".into()));
    assert_eq!(config.key_file, KeyFile::Own("/data/keys".into()));
    assert_eq!(config.access_ttl, Duration::from_hours(1));
    assert_eq!(config.forge_scopes.joined(), "read:user write:repository");
    assert_eq!(config.private_schemes, ["cursor"]);
    assert_eq!(config.metadata_hosts, MetadataHosts::Any);
    assert!(config.registration && config.origins.is_empty());
}

#[test]
fn every_fault_is_told_with_its_source() {
    let mut given = given(&[
        ("BLUE_BROKER_PUBLIC_URL", "mcp.example.org"),
        ("BLUE_BROKER_FORGE_SCOPES", "read:user write:repo"),
        ("BLUE_BROKER_FOO", "1"),
        ("BLUE_BROKER_KEYFILE", "1"),
    ]);
    given.flags = vec![("listen".to_owned(), "nowhere".to_owned())];
    given.file = Some(file("access_ttl = '3 weeks'\nbogus = 1\nforge_ur = 'x'\n"));
    let told = faults(&given);
    for fault in [
        "BLUE_BROKER_PUBLIC_URL: not an absolute URL",
        "BLUE_BROKER_FORGE_URL: missing; set it, or give `--forge-url`",
        "BLUE_BROKER_CLIENT_ID: missing; set it, or give `--client-id`",
        "BLUE_BROKER_CLIENT_SECRET: missing; set it, or `BLUE_BROKER_CLIENT_SECRET_FILE`",
        "BLUE_BROKER_FORGE_SCOPES: `write:repo` is not a scope, and the forge would give full access for it",
        "BLUE_BROKER_FOO: there is no such setting",
        "BLUE_BROKER_KEYFILE: there is no such setting; did you mean `BLUE_BROKER_KEY_FILE`?",
        "--listen: an address is like `127.0.0.1:8080`, `[::1]:8080` or `8080`",
        "`/etc/broker.toml`: access_ttl: a time is like `90s`, `15m`, `1h` or `30d`",
        "`/etc/broker.toml`: bogus: there is no such setting",
        "`/etc/broker.toml`: forge_ur: there is no such setting; did you mean `forge_url`?",
    ] {
        assert!(told.iter().any(|line| line == fault), "{fault}\n{told:#?}");
    }
    assert_eq!(told.len(), 11, "{told:#?}");
}

#[test]
fn flags_win_over_variables_and_those_over_the_file() {
    let mut given = with(&[("BLUE_BROKER_ACCESS_TTL", "2h")]);
    given.file = Some(file(
        "access_ttl = '3h'\nrefresh_ttl = '3d'\nlisten = '[::1]:1'\ndata = 'd'",
    ));
    given.flags = vec![("listen".to_owned(), "9000".to_owned())];
    let config = read(&given).unwrap();
    assert_eq!(config.access_ttl, Duration::from_hours(2));
    assert_eq!(config.refresh_ttl, Duration::from_hours(72));
    assert_eq!(config.listen.to_string(), "127.0.0.1:9000");
    assert_eq!(config.data, Path::new("/etc/d"), "below the file's folder");
}

#[test]
fn a_port_alone_is_on_this_machine() {
    for (text, address) in [
        ("8080", "127.0.0.1:8080"),
        (":8080", "127.0.0.1:8080"),
        ("localhost:8080", "127.0.0.1:8080"),
        ("[::]:80", "[::]:80"),
    ] {
        assert_eq!(values::listen(text).unwrap().to_string(), address);
    }
    for bad in ["", "::1", "::8080", "localhost", "localhost8080", "70000"] {
        assert!(values::listen(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_time_is_told_as_it_is_given() {
    let told = faults(&with(&[
        ("BLUE_BROKER_ACCESS_TTL", "9s"),
        ("BLUE_BROKER_REFRESH_TTL", "367d"),
    ]));
    assert_eq!(
        told,
        [
            "BLUE_BROKER_ACCESS_TTL: must be from 10s to 1d",
            "BLUE_BROKER_REFRESH_TTL: must be from 1h to 366d",
        ]
    );
}

#[test]
fn an_empty_variable_is_not_set() {
    let config = read(&with(&[("BLUE_BROKER_LISTEN", " ")])).unwrap();
    assert_eq!(config.listen.port(), 8080);
}

#[test]
fn a_secret_comes_from_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    std::fs::write(&path, "gto_fromfile\n").unwrap();
    let path = path.to_str().unwrap();
    let given_by = |vars: &[(&str, &str)]| given(&[&ENOUGH[..3], vars].concat());
    let config = read(&given_by(&[("BLUE_BROKER_CLIENT_SECRET_FILE", path)])).unwrap();
    assert_eq!(config.client_secret.expose(), "gto_fromfile");

    let both = faults(&with(&[("BLUE_BROKER_CLIENT_SECRET_FILE", path)]));
    assert!(
        both[0].contains("also given by BLUE_BROKER_CLIENT_SECRET_FILE"),
        "{both:?}"
    );

    let gone = faults(&given_by(&[("BLUE_BROKER_CLIENT_SECRET_FILE", "/gone")]));
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert!(gone[0].starts_with("BLUE_BROKER_CLIENT_SECRET_FILE: `/gone` could not be read"));

    for more in ["two\nlines\n", "nul\0"] {
        std::fs::write(path, more).unwrap();
        let told = faults(&given_by(&[("BLUE_BROKER_CLIENT_SECRET_FILE", path)]));
        assert!(told[0].ends_with("holds more than one line"), "{told:?}");
    }
    std::fs::write(path, "gto_fromfile\r\n").unwrap();

    // A stronger layer's file wins over a weaker layer's value.
    let mut layered = given_by(&[("BLUE_BROKER_CLIENT_SECRET_FILE", path)]);
    layered.file = Some(file("client_secret = 'weak'"));
    assert_eq!(
        read(&layered).unwrap().client_secret.expose(),
        "gto_fromfile"
    );
}

#[test]
fn https_is_needed_but_on_this_machine() {
    for good in [
        "https://a.example",
        "https://a.example/",
        "https://a.example:8443",
        "http://127.0.0.1:8080",
        "http://localhost",
        "http://[::1]:80",
    ] {
        let url = PublicUrl::parse(good).unwrap();
        assert!(!url.origin().ends_with('/'), "{good}");
    }
    for bad in [
        "http://a.example",
        "https://a.example/path",
        "https://u:p@a.example",
        "https://a.example/?q",
        "ftp://a.example",
        "a.example",
        "http://127.0.0.1.example.org",
        "",
    ] {
        assert!(PublicUrl::parse(bad).is_err(), "{bad}");
    }
    let bound = PublicUrl::parse("http://127.0.0.1:0")
        .unwrap()
        .with_port(99);
    assert_eq!(bound.origin(), "http://127.0.0.1:99");
    assert_eq!(bound.authority(), "127.0.0.1:99");
}

#[test]
fn databases() {
    let db = |text| Database::parse(text, Path::new("/b"));
    assert_eq!(db("sqlite:x.db"), Ok(Database::Sqlite("/b/x.db".into())));
    assert_eq!(
        db("sqlite:///v/x.db"),
        Ok(Database::Sqlite("/v/x.db".into()))
    );
    assert!(matches!(
        db("postgres://u:p@h/d"),
        Ok(Database::Postgres(_))
    ));
    assert!(db("mysql://h").is_err() && db("sqlite:").is_err());
    assert!(db("postgres://h/d?sslmode=require&host=%2Frun").is_ok());
    assert_eq!(
        db("postgres://h/d?sslmod=verify-full").unwrap_err(),
        "`sslmod` is not an option of postgres://"
    );
    let told = db("postgres://u:hunter2@h/d?sslmode=full").unwrap_err();
    assert_eq!(told, "unknown value \"full\" for `ssl_mode`");
    for bad in [
        "postgres://u:hunter2@h/d?port=hunter2",
        "postgres://u:hunter2%ff@h/d",
    ] {
        let told = db(bad).unwrap_err();
        assert!(!told.contains("hunter2"), "{told}");
    }
    let shown = format!("{:?}", db("postgres://u:hunter2@h/d"));
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_database_of_the_file_is_below_its_folder() {
    let mut given = with(&[]);
    given.file = Some(file("db = 'sqlite:my.db'"));
    let config = read(&given).unwrap();
    assert_eq!(config.database, Database::Sqlite("/etc/my.db".into()));
    let below = tempfile::tempdir().unwrap();
    let mut given = with(&[("BLUE_BROKER_DB", "sqlite:my.db")]);
    given.cwd = below.path().to_owned();
    let config = read(&given).unwrap();
    assert_eq!(
        config.database,
        Database::Sqlite(below.path().join("my.db"))
    );
}

#[test]
fn files_that_cannot_be_there_are_faults() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "hunter2\n").unwrap();
    let at = |path: &Path| path.display().to_string();
    let told = faults(&with(&[
        ("BLUE_BROKER_DATA", &at(&file.join("below"))),
        (
            "BLUE_BROKER_DB",
            &format!("sqlite:{}", at(&dir.path().join("gone/x.db"))),
        ),
        ("BLUE_BROKER_KEY_FILE", &at(&file)),
    ]));
    assert_eq!(
        told,
        [
            format!("BLUE_BROKER_DATA: `{}` is not a folder", at(&file)),
            format!(
                "BLUE_BROKER_DB: there is no folder `{}`",
                at(&dir.path().join("gone"))
            ),
            format!(
                "BLUE_BROKER_KEY_FILE: line 1 of the key file `{}` is not a key: 32 bytes in base64",
                at(&file)
            ),
        ]
    );
    let told = faults(&with(&[(
        "BLUE_BROKER_DB",
        &format!("sqlite:{}", at(dir.path())),
    )]));
    assert_eq!(
        told,
        [format!("BLUE_BROKER_DB: `{}` is a folder", at(dir.path()))]
    );
    // The data folder is created at the start, and then what is in it.
    let data = at(&dir.path().join("new/data"));
    let db = format!("sqlite:{data}/x.db");
    read(&with(&[
        ("BLUE_BROKER_DATA", &data),
        ("BLUE_BROKER_DB", &db),
    ]))
    .unwrap();
}

#[test]
fn a_secret_of_the_file_is_not_empty() {
    let mut given = given(&ENOUGH[..3]);
    given.file = Some(file("client_secret = ''"));
    assert_eq!(
        faults(&given),
        ["`/etc/broker.toml`: client_secret: is empty"]
    );
}

#[test]
fn private_schemes_are_private() {
    let config = |text| read(&with(&[("BLUE_BROKER_PRIVATE_SCHEMES", text)]));
    assert_eq!(
        config("cursor, com.example.app").unwrap().private_schemes,
        ["cursor", "com.example.app"]
    );
    assert!(config("none").unwrap().private_schemes.is_empty());
    for bad in ["javascript", "https", "Data", "a b:", "data"] {
        assert!(config(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_proxy_that_is_trusted_is_an_address_or_a_network() {
    let config = |text| read(&with(&[("BLUE_BROKER_TRUSTED_PROXIES", text)]));
    assert!(read(&with(&[])).unwrap().trusted_proxies.is_empty());
    assert!(config("none").unwrap().trusted_proxies.is_empty());
    let two = config("127.0.0.1, fd00::/8").unwrap().trusted_proxies;
    assert_eq!(format!("{two:?}"), "[127.0.0.1/32, fd00::/8]");
    for bad in ["proxy.example.org", "127.0.0.1/99", "any", "10.0.0.1/8"] {
        let told = faults(&with(&[("BLUE_BROKER_TRUSTED_PROXIES", bad)]));
        let here = "BLUE_BROKER_TRUSTED_PROXIES: `";
        assert!(told.len() == 1 && told[0].starts_with(here), "{told:?}");
    }
}

#[test]
fn clients_are_tables_of_the_file() {
    let mut given = with(&[]);
    given.file = Some(file(
        "[[clients]]\nid = 'ci'\nname = 'CI'\nredirect_uris = ['https://ci.example/cb']\n\
         [[clients]]\nid = 'ci'\nname = 'CI'\nredirect_uris = ['https://ci.example/cb']\n",
    ));
    let told = faults(&given);
    assert_eq!(
        told,
        ["`/etc/broker.toml`: clients[1]: there is another client `ci`"]
    );
    given.file = Some(file(
        "[[clients]]\nid = 'ci'\nname = 'CI'\nredirect_uri = 'x'\n",
    ));
    assert!(
        faults(&given)[0].contains("redirect_uri"),
        "{:?}",
        faults(&given)
    );
}

#[test]
fn every_client_is_judged_by_itself() {
    let mut given = with(&[]);
    given.file = Some(file(
        "[[clients]]\nid = 'a'\nname = 'A'\nredirect_uris = ['javascript:alert(1)']\n\
         [[clients]]\nid = 'b'\nname = 'B'\n\
         [[clients]]\nid = 'c'\nname = ''\nredirect_uris = ['https://c.example/cb']\n\
         [[clients]]\nid = 'd'\nname = 'D'\nredirect_uris = ['https://*.example/cb']\n\
         [[clients]]\nid = 'e'\nname = 'E'\nredirect_uris = ['http://e.example/cb']\n\
         [[clients]]\nid = 'f'\nname = 'F'\nredirect_uris = ['http://127.0.0.1/cb']\n",
    ));
    let told = faults(&given);
    assert_eq!(told.len(), 5, "{told:#?}");
    for (at, why) in [
        (0, "must be https"),
        (1, "redirect_uris"),
        (2, "`name` must be a line of text"),
        (3, "wildcard"),
        (4, "must be https"),
    ] {
        let source = format!("`/etc/broker.toml`: clients[{at}]: ");
        let line = |line: &String| line.starts_with(&source) && line.contains(why);
        assert!(told.iter().any(line), "{at} {why}: {told:#?}");
    }
}

#[test]
fn a_key_given_twice_is_told_by_its_line() {
    let mut given = with(&[]);
    given.file = Some(file("listen = '1'\naccess_ttl = '1h'\nlisten = '2'\n"));
    let told = faults(&given);
    assert!(told[0].contains(": line 3: "), "{told:?}");
}

#[test]
fn a_broken_file_shows_no_secret_and_is_the_only_fault() {
    let mut given = given(&[]);
    given.file = Some(file("client_id = 'a'\nclient_secret = 'hunter2\n"));
    let told = faults(&given);
    assert!(
        told[0].starts_with("`/etc/broker.toml`: line 2: "),
        "{told:?}"
    );
    assert!(!told[0].contains("hunter2"), "{told:?}");
    // The file could not be read, so no setting is reported as missing.
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_the_rest() {
    let mut given = given(&[("BLUE_BROKER_LISTEN", "nowhere")]);
    given.file = Some(File {
        path: PathBuf::from("/etc/broker.toml"),
        text: Err("could not be read: gone".to_owned()),
    });
    let told = faults(&given);
    assert_eq!(told[0], "`/etc/broker.toml`: could not be read: gone");
    assert!(told[1].starts_with("BLUE_BROKER_LISTEN: "), "{told:?}");
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn a_value_with_two_faults_tells_both() {
    let told = PublicUrl::parse("http://a.example/path").unwrap_err();
    assert!(told.contains("https://") && told.contains("no path"));
    let told = ForgeScopes::parse("read:users write:repo").unwrap_err();
    for part in ["`read:users` is", "`write:repo` is", "`read:user` must"] {
        assert!(told.contains(part), "{told}");
    }
    let mut given = with(&[]);
    given.file = Some(file(
        "[[clients]]\nid = 'a b'\nname = ''\nredirect_uris = ['x:', 'http://e.example/']\n\
         secret_file = '/gone'\n",
    ));
    assert_eq!(faults(&given).len(), 5, "{:?}", faults(&given));
}
