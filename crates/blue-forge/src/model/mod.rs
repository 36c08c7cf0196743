//! What a forge tells, in Blue's own words: one vocabulary for both families

mod change;
mod checks;
mod name;
mod overview;
mod page;
mod pr;
mod protection;
mod repo;

pub use blue_base::host::Host;

pub use change::*;
pub use checks::*;
pub use name::*;
pub use overview::*;
pub use page::*;
pub use pr::*;
pub use protection::*;
pub use repo::*;
