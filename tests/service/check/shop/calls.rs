//! The shop's calls to the service.

use super::*;

impl Server {
    /// Calls the service with the key.
    pub(super) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer<Value> {
        self.call_as(&self.key, method, path, body).await
    }

    pub(super) async fn call_as(
        &self,
        credential: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Answer<Value> {
        let base = self.books().moved_to.clone().unwrap_or_else(|| self.service.clone());
        let is_read = method == "GET";
        let follows = self.is(FollowsRedirects) || (self.is(FollowsRedirectsOfReads) && is_read);
        let waits = self.is(WaitsForEver) || (self.is(WaitsForReads) && is_read);
        self.log(LogsKey, &format!("{method} {path} Bearer {}", self.key));
        let request = self.http.request(method.parse().unwrap(), format!("{base}{path}")).bearer_auth(credential);
        let request = request.header("content-type", "application/json");
        let request = request.timeout(Duration::from_secs(if waits { 3600 } else { 2 }));
        let sent = request.body(body.map(|body| body.to_string()).unwrap_or_default()).send().await;
        let unavailable = |failed: reqwest::Error| match self.broken {
            NextReferenceAfterTimeout if failed.is_timeout() => error(504, "timeout"),
            _ => error(503, "unavailable"),
        };
        let mut response = sent.map_err(unavailable)?;
        let address = text(response.headers(), "location");
        if let Some(address) = address.clone().filter(|_| follows) {
            response = self.http.get(address).bearer_auth(credential).send().await.map_err(unavailable)?;
        }
        let status = response.status();
        if status == StatusCode::PERMANENT_REDIRECT && self.is(MovesWithRedirect) {
            self.books().moved_to = address.and_then(|address| Some(address.strip_suffix(path)?.to_owned()));
        }
        let reply = response.bytes().await.map_err(unavailable)?;
        if status.as_u16() >= 300 && !self.is(IgnoresHttpStatus) {
            return Err(match (self.broken, status.as_u16()) {
                (HandsRefusalsOn, _) => (status, reply).into_response(),
                (AnswersTextOnRefusal, _) => (StatusCode::BAD_GATEWAY, "The payment service is down.").into_response(),
                (TellsSignedOutForRefusedKey, 401) => error(401, "authentication_required"),
                (NextReferenceAfterConflict, 409) => error(409, "conflict"),
                (TakesServerErrorForFailed, 500) => error(500, "internal_error"),
                _ => error(502, "service_failed"),
            });
        }
        serde_json::from_slice(&reply).map_err(|_| match self.broken {
            BreaksOnHtml => (StatusCode::INTERNAL_SERVER_ERROR, "SyntaxError: Unexpected token '<'").into_response(),
            RedirectsOnHtml => (StatusCode::FOUND, [("location", "/")]).into_response(),
            HandsHtmlOn => String::from_utf8_lossy(&reply).into_owned().into_response(),
            _ => error(502, "service_failed"),
        })
    }
}
