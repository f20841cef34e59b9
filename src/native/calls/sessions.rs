use crate::native::Client;
use crate::operations::{CreateSession, CreatedSession};
use crate::protocol::Error;
use crate::values::{Email, Moment};

impl Client {
    /// `POST /v1/sessions/create`: create a token with which this customer's browser acts for 30 minutes.
    ///
    /// The other two operations of a session are sent with its token: [`Client::customer`].
    /// [`Sessions`](crate::native::Sessions) keeps one token per login and ends it.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn create_session(&self, customer_email: &Email) -> Result<CreatedSession, Error> {
        self.create_session_with_date(customer_email).await.map(|(session, _)| session)
    }

    /// The same, with the service's time of its reply, if the reply says it.
    pub(in crate::native) async fn create_session_with_date(
        &self,
        customer_email: &Email,
    ) -> Result<(CreatedSession, Option<Moment>), Error> {
        let reply = self.reply(&CreateSession::new(customer_email.clone())).await?;
        let date = reply.date;
        Ok((reply.into_output()?, date))
    }
}
