//! A flag for every setting of the broker, made from its one list

use blue_broker::config::{Kind, SETTINGS};
use clap::{Arg, ArgMatches, Command, FromArgMatches};

/// Key and value of each flag that was given
#[derive(Debug, Clone, Default)]
pub(super) struct Flags(pub(super) Vec<(String, String)>);

impl clap::Args for Flags {
    fn augment_args(mut command: Command) -> Command {
        for setting in SETTINGS
            .iter()
            .filter(|setting| setting.kind != Kind::Secret)
        {
            let mut help = setting.what.to_owned();
            if !setting.default.is_empty() {
                help = format!("{help} [default: {}]", setting.default.replace('`', ""));
            }
            let value = match setting.kind {
                Kind::Path => "PATH",
                _ => "VALUE",
            };
            command = command.arg(
                Arg::new(setting.key)
                    .long(setting.flag().trim_start_matches('-').to_owned())
                    .value_name(value)
                    .help(help)
                    .help_heading("Settings")
                    .global(true),
            );
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = SETTINGS.iter().filter_map(|setting| {
            let value = matches.try_get_one::<String>(setting.key).ok()??;
            Some((setting.key.to_owned(), value.clone()))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
