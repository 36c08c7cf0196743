//! Names of users and clients, for lists that hold their ids

use std::collections::HashMap;

use sqlx::QueryBuilder;

use super::{Store, StoreError, db::reading};

/// Ids that one query names
const IDS_PER_QUERY: usize = 1000;

impl Store {
    /// Logins of users, by id; users that are gone are left out
    pub(crate) async fn logins(&self, ids: &[&str]) -> Result<HashMap<String, String>, StoreError> {
        self.names("SELECT id, login FROM users WHERE id IN (", ids)
            .await
    }

    /// Names of clients, by id; clients that are forgotten are left out
    pub(crate) async fn client_names(
        &self,
        ids: &[&str],
    ) -> Result<HashMap<String, String>, StoreError> {
        self.names("SELECT id, name FROM clients WHERE id IN (", ids)
            .await
    }

    async fn names(
        &self,
        select: &'static str,
        ids: &[&str],
    ) -> Result<HashMap<String, String>, StoreError> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let mut names = HashMap::new();
        for some in ids.chunks(IDS_PER_QUERY) {
            let rows: Vec<(String, String)> = reading!(&self.db, |on| {
                let mut query = QueryBuilder::new(select);
                let mut list = query.separated(", ");
                for id in some {
                    list.push_bind((*id).to_owned());
                }
                list.push_unseparated(")");
                query
                    .build_query_as()
                    .persistent(false)
                    .fetch_all(on)
                    .await?
            });
            names.extend(rows);
        }
        Ok(names)
    }
}
