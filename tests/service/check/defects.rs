//! The shops that `guichet check` is tested with: each is right, or broken in exactly one point.

/// Declares the shops: right designs, and after each rule the defects that break it. Those behind the bar were made by
/// another person, from `docs/shop.md` alone.
macro_rules! shops {
    (
        designs { $($(#[$meaning:meta])* $design:ident)* }
        $($rule:ident { $($defect:ident)* $(| $($other:ident)*)? })*
    ) => {
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum Broken {
            $($(#[$meaning])* $design,)*
            $($($defect,)* $($($other,)*)?)*
        }

        impl Broken {
            /// Each defect, and the rule that it breaks.
            pub const EACH: &[(Self, &'static str)] = &[
                $($((Self::$defect, stringify!($rule)),)* $($((Self::$other, stringify!($rule)),)*)?)*
            ];
        }
    };
}

shops! {
    designs {
        Nothing
        /// Nothing: its login is a pair of cookies, of which one is enough.
        Pair
        /// Nothing: its timer sends what is stored again.
        SendsAgain
        /// Nothing: it sells in the currency that the lies tell first.
        SellsInUgx
        /// Nothing: a request needs the token of a cookie as well, in the header X-CSRF-Token.
        NeedsCsrfToken
        /// Nothing: its first order is marked, and a restart loses the line in its books.
        LosesLineAtRestart
        /// Needs the token, and compares no origin.
        NeedsCsrfTokenAlone
        /// Sells in UGX, unless the page names another currency.
        SellsInUgxOrPagesCurrency
    }
    forged_price_is_ignored {
        TakesPriceFromPage TakesNestedPrice TakesPriceFromQuery TakesCheaperPrice SubtractsDiscount AddsTip
        TakesPriceOnRepeat | TakesPriceFromCookie TakesPriceFromHeader
    }
    forged_quantity_is_refused { MultipliesQuantity ParsesQuantity WrapsQuantity }
    forged_currency_is_ignored { TakesCurrency TakesNestedCurrency TakesCurrencyFromQuery }
    forged_customer_is_ignored { TakesEmail TakesOwnerFromHeader TakesOwnerFromCookie TakesFirstname }
    forged_reference_is_ignored { TakesReference TakesNestedReference GivesNamedPayment | NewReferenceForRetry }
    forged_address_is_ignored { TakesRedirectUrl TakesReturnAddressByPrefix TakesNextPath }
    forged_host_is_ignored { FollowsHost FollowsForwardedHost FollowsReferer }
    forged_terms_are_ignored {
        MergesFields TakesFeeBearer TakesMethodTypes MarksPaidByPage TakesDescriptionOnRepeat
        TakesFeeBearerOnRepeat
    }
    order_becomes_payment { OmitsCheckoutUrl | AnswersWithoutEnvelope OmitsPaymentRef }
    same_order_same_payment { MakesNewReferenceEachTime | RefusesRepeat NumbersEachDescription }
    same_payment_after_restart { ForgetsNonceAtRestart | NamesReferenceByStart ForgetsOrdersAtRestart }
    return_nonce_agrees { AnswersAnotherNonce | ShortensNonce ReturnsWithoutNonce }
    return_nonce_cannot_be_guessed { HashesOrderAndCustomer PadsReference | CountsNonces HashesReference }
    session_needs_login { GivesStrangersSessions GivesSessionOfLast OmitsEnd | StrangerNamesCustomer }
    session_is_of_login {
        SessionForEmailInBody SessionForCustomerInQuery SessionForUserInHeader SessionForCookie |
        HandsOutForeignSession
    }
    sessions_are_apart { SharesSession SessionForOneEmail MixesCustomersAtOnce }
    login_is_guarded {
        LoginForScripts LoginForOtherSites LoginIsGuessable KeepsGivenLogin | LoginIsConstant LoginIsTime
        LoginNamesCustomer PairForScripts
    }
    sign_out_ends_login { ForgetsCookieOnly SignsOutOfSessionsOnly IgnoresSignOutForGet | SignOutDoesNothing }
    sign_out_ends_sessions { LeavesSessionsAtSignOut EndsNewestSessionAlone | RevokesSessionsWithKey }
    stranger_gets_nothing {
        SellsToStrangers ShowsStatusToStrangers ShowsStatusByOrder | StrangerNamesOwner
        ListsPaymentsForAdministrators
    }
    other_customer_sees_nothing {
        ShowsPaymentsToAll ShowsPaymentsByIntent SellsOrdersOfOthers TrustsOwnerInQuery | ListsPayments
    }
    foreign_origin_refused {
        TrustsOrigins TrustsPrefix TrustsSuffix TrustsAnyPort TrustsOwnNameAnywhere RefusesAfterCreation |
        ChecksOriginOfOrdersAlone
    }
    null_origin_refused { TrustsNull TrustsNullForReads TrustsNullForSessions | TrustsNullForOrders }
    same_site_refused { TrustsSameSite TrustsSameSiteReads TrustsSameSiteSessions | TrustsSameSiteOrders }
    cross_site_refused { TrustsCrossSite TrustsCrossSiteReads TrustsCrossSiteSessions | ChecksSiteBesideOriginAlone }
    text_plain_refused { TakesTextPlain TakesTextThatNamesJson TakesMultipart | TakesTextWithCharset }
    foreign_form_refused { TrustsForms TrustsFormsWithoutSite TrustsFormsOfAnyOrigin | TakesForeignMultipart }
    other_methods_do_nothing { SessionByGet IntentByGet IntentByPut | MethodByQuery }
    cors_for_own_page { AnswersAnyOrigin AnswersNullOrigin AnswersOriginsBySuffix }
    refusing_service { HandsRefusalsOn | AnswersTextOnRefusal TellsSignedOutForRefusedKey }
    unreadable_service { BreaksOnHtml | RedirectsOnHtml HandsHtmlOn }
    slow_service { WaitsForEver | WaitsForReads NextReferenceAfterTimeout }
    redirect_is_not_followed { FollowsRedirects FollowsRedirectsOfReads | MovesWithRedirect }
    late_approval_pays { GivesUpDeclined GivesUpAbandoned GivesUpRejected | GivesUpUnavailable }
    wrong_amount_pays_nothing { IgnoresAmount ReadsAmountAsFloat CutsAmount | AcceptsMore NextReferenceAfterMismatch }
    wrong_currency_pays_nothing { IgnoresCurrency AcceptsBothFrancs AcceptsNoCurrency | ComparesTwoLettersOfCurrency }
    wrong_reference_pays_nothing {
        IgnoresReference ComparesReferenceWithoutCase TrimsReference PaysReferenceOfReply |
        ComparesStartOfReference
    }
    wrong_id_pays_nothing { IgnoresId AcceptsNoId | PaysIdOfReply }
    wrong_owner_pays_nothing { IgnoresOwner ComparesHostOfEmail AcceptsNoEmail | ComparesNameOfEmail }
    only_succeeded_pays { PaysProcessing PaysUnlessItFailed IgnoresHttpStatus ComparesStatusWithoutCase }
    unknown_status_is_read_on { TakesUnknownForFailed StopsAtUnknown TellsFailedForUnknown }
    return_page_pays_nothing {
        PaysByReturnAddress PaysByQueryOfStatus | PaysWithPaymentOfReturn PaysByNotification PaysByPostedReturn
    }
    approvable_until_is_handed_on {
        OmitsApprovableUntil OmitsApprovableUntilOfError TellsDeclinedAsFailed | TellsProcessingAsFailed
    }
    failed_read_is_no_decline {
        TakesFailedReadForFailed TellsFailedWithoutService ForgetsPaymentAfter404 | TakesServerErrorForFailed
    }
    decline_gets_next_reference { KeepsDeclinedReference IgnoresCanceled CountsDeclineEachTime | CountsOneDecline }
    second_reference_only_after_end {
        NextReferenceWhileProcessing NextReferenceAfterDecline | NextReferenceForCode NextReferenceOncePaid
    }
    lost_reply_same_payment {
        NextReferenceAfterLostReply NumbersReferenceOfFailedCall | NumbersDescription NextReferenceAfterConflict
    }
    same_order_at_once { NamesReferenceByTime InsertsAfterCall NumbersOrderInFlight }
    open_payments_have_a_limit { NoLimit RefusesKnownAtLimit RefusesWith429 | LimitsEveryone CountsEndedPayments }
    paid_without_return { NoTimer ForgetsReturned StopsAtProcessing | SettlesYoungestAlone }
    paid_once { MarksTwice MarksAtEachStatus MarksAgainAtEachOrder | MarksForPageAndTimer }
    failing_read_delays_none { EndsRoundAtError TimerEndsAtError | EndsRoundAtUnsent }
    duplicate_is_refunded {
        IgnoresDuplicates RefundsTwice RefundsOncePerPayment StopsAtSucceeded | RefundsAtEachStatus
    }
    late_approval_after_end_is_refunded { StopsAtFailed StopsAtCanceled PaysByLateApproval }
    refund_has_fee { RefundsPriceOfDuplicate RefundsPriceOfSecondPayment | AddsRefundsUp }
    paid_order_is_not_sold_again { SellsPaidOrderAgain HandsOutOpenPayment | SellsAgainWithoutNext }
    paid_across_restart { ForgetsPaymentsAtRestart MarksAgainAfterRestart GivesUpOpenAtRestart }
    open_payment_keeps_price { ComparesWithCatalogue KeepsOldPrice SendsNewBody }
    books_stay_true { MarksAgainLater ForgetsPaidLater RefundsLater }
    token_in_no_url { PutsTokenIntoAddress PutsTokenIntoRedirectUrl PutsTokenIntoLink | PutsTokenIntoRefresh }
    secrets_where_needed { ShowsClientSecret ShowsCheckoutUrlInStatus KeepsTokenInCookie }
    answers_are_not_stored { StoresSession StoresStatus StoresIntentsPublicly }
    key_in_no_answer {
        ShowsKey ShowsKeyInScript ShowsKeyInMap ServesEnvironment ShowsKeyInError | ShowsKeyInSettings
        PutsKeyIntoDescription
    }
    secrets_are_not_logged { LogsKey LogsTokens LogsCheckoutUrl }
}
