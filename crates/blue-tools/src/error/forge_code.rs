//! The code of each failure of a forge

use blue_forge::ForgeError;

use super::ErrorCode;

pub(super) fn forge_code(error: &ForgeError) -> ErrorCode {
    match error {
        ForgeError::NotFound { .. } => ErrorCode::NotFound,
        ForgeError::Unauthorized { .. } => ErrorCode::Unauthorized,
        ForgeError::Forbidden { .. } | ForgeError::MissingScope { .. } => ErrorCode::Forbidden,
        ForgeError::NotMergeable { .. } => ErrorCode::NotMergeable,
        ForgeError::Conflict { .. } => ErrorCode::Conflict,
        ForgeError::Invalid { .. } => ErrorCode::Invalid,
        ForgeError::Unsupported { .. } => ErrorCode::Unsupported,
        ForgeError::Archived { .. } => ErrorCode::Archived,
        ForgeError::RateLimited { .. } => ErrorCode::RateLimited,
        ForgeError::Busy { .. } => ErrorCode::Busy,
        ForgeError::Unreachable { .. } => ErrorCode::Unreachable,
        ForgeError::NoAnswer { .. } => ErrorCode::NoAnswer,
        ForgeError::TooLarge { .. } => ErrorCode::TooLarge,
        ForgeError::TokenHost { .. } => ErrorCode::TokenHost,
        ForgeError::ReadOnly { .. } => ErrorCode::ReadOnly,
        ForgeError::NotAllowed(_) => ErrorCode::NotAllowed,
        ForgeError::Moved { .. } => ErrorCode::Moved,
        ForgeError::Unexpected { .. }
        | ForgeError::NotPublic { .. }
        | ForgeError::Decode { .. } => ErrorCode::UnexpectedAnswer,
    }
}
