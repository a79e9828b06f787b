//! [`Address`]: a base URL that a prompt and a key may be sent to.

use std::net::IpAddr;

use reqwest::Url;

/// A base URL: https, or http to this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    /// Why nothing is sent there. The text does not repeat the URL, which may hold a secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text.trim()).map_err(|error| format!("`url` is none: {error}"))?;
        let is_bare = url.query().is_none() && url.fragment().is_none();
        if !is_bare || !url.username().is_empty() || url.password().is_some() {
            return Err("`url` has a user, a query or a fragment; a key comes from `key-variable`".to_owned());
        }
        let address = Self(url);
        match address.0.scheme() {
            "https" => Ok(address),
            "http" if address.is_local() => Ok(address),
            _ => Err("`url` is no https; plain http goes to this machine alone".to_owned()),
        }
    }

    /// The host with its port, for people.
    #[must_use]
    pub fn host(&self) -> String {
        let port = self.0.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{}{port}", self.0.host_str().unwrap_or_default())
    }

    /// Whether it is on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// The address of a call.
    pub(super) fn of(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn plain_http_goes_to_this_machine_alone() {
        let local = [
            "http://127.0.0.1:8080/v1",
            "http://localhost/v1",
            "http://[::1]:1/",
            "http://127.9.9.9",
            "https://localhost",
        ];
        for text in local {
            assert!(Address::parse(text).expect(text).is_local(), "{text}");
        }
        assert!(!Address::parse("https://example.com").expect("https").is_local());
        let wrong = [
            "http://example.com/v1",
            "http://10.0.0.1/v1",
            "http://127.0.0.1.example.com",
            "http://localhost.example.com",
            "http://0.0.0.0/",
            "ftp://localhost",
            "file:///etc/passwd",
            "https://",
            "localhost:8080",
            "",
        ];
        for text in wrong {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_url_holds_no_secret() {
        for text in [
            "https://me:hidden@example.com",
            "https://example.com/v1?key=hidden",
            "https://example.com/#hidden",
        ] {
            let why = Address::parse(text).expect_err(text);
            assert!(why.contains("key-variable") && !why.contains("hidden"), "{why}");
        }
    }

    #[test]
    fn a_call_is_below_the_base() {
        for text in ["https://example.com:9/v1", "https://example.com:9/v1/", " https://example.com:9/v1//"] {
            let address = Address::parse(text).expect(text);
            assert_eq!(address.of("chat/completions").as_str(), "https://example.com:9/v1/chat/completions");
            assert_eq!(address.host(), "example.com:9");
        }
    }
}
