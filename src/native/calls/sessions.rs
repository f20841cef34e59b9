use crate::native::Client;
use crate::operations::{CreateSession, CustomerSession};
use crate::protocol::Error;
use crate::values::{Email, Moment};

impl Client {
    /// `POST /v1/sessions/create`: a token with which this customer's browser acts for 30 minutes.
    ///
    /// The other two calls of a session are sent with its token: [`Client::customer`]. For one token a login, made and
    /// ended in one place, there is [`Sessions`](crate::native::Sessions).
    ///
    #[doc = example!()]
    /// use guichet::values::Email;
    /// let session = client.create_session(&Email::new("awa@example.com")?).await?;
    /// assert!(client.customer(&session.session_token).validate().await?.valid);
    /// assert_eq!(format!("{:?}", session.session_token), "SessionToken(***)");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn create_session(&self, customer_email: &Email) -> Result<CustomerSession, Error> {
        self.create_session_with_date(customer_email).await.map(|(session, _)| session)
    }

    /// The same, and the service's time of it, where its reply says so.
    pub(in crate::native) async fn create_session_with_date(
        &self,
        customer_email: &Email,
    ) -> Result<(CustomerSession, Option<Moment>), Error> {
        let answer = self.ask(&CreateSession::new(customer_email.clone()), self.key()).await?;
        let date = answer.date();
        Ok((answer.into_output::<CreateSession>()?, date))
    }
}
