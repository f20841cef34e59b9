//! Value types: which texts they accept and refuse, and that they are written as they were read.

use guichet::operations::{CalculateFee, CreatePlan};
use guichet::protocol::assemble;
use guichet::values::*;
use proptest::prelude::*;
use std::collections::HashSet;

#[test]
fn an_amount_is_a_number_and_keeps_its_decimals() {
    for good in ["0", "1", "5000", "145.10", "-5", "-0.50", "0.000000000000000001", "18446744073709551615.99"] {
        assert_eq!(Amount::new(good).map(|amount| amount.to_string()), Ok(good.to_owned()));
    }
    for bad in ["", "-", ".", ".5", "+1", "1e3", " 5", "5 ", "５０００", "5_000", "0x10", "1.2.3", "--1", "1.-2", "NaN"]
    {
        assert!(Amount::new(bad).is_err(), "{bad}");
    }
    for beyond in ["18446744073709551616", "0.0000000000000000001"] {
        assert!(Amount::new(beyond).is_err(), "{beyond}");
    }
}

#[test]
fn amounts_are_compared_by_value() {
    let amount = |text: &str| Amount::new(text).unwrap();
    for (one, other) in [("145.10", "145.1"), ("5000", "5000.0"), ("0", "-0.00"), ("007", "7")] {
        assert_eq!(amount(one), amount(other));
        assert_eq!(HashSet::from([amount(one), amount(other)]).len(), 1, "{one} {other}");
    }
    let ascending = ["-10.5", "-10.45", "-0.5", "0", "0.05", "0.5", "9000.45", "9000.5", "10000"].map(amount);
    assert!(ascending.is_sorted_by(|a, b| a < b), "{ascending:?}");
}

#[test]
fn an_amount_is_read_from_a_json_number_or_a_string() {
    for (json, shown) in [
        ("5000", "5000"),
        ("\"5000\"", "5000"),
        ("145.10", "145.10"),
        ("\"145.10\"", "145.10"),
        ("-5", "-5"),
        ("5e3", "5000"),
        ("1.5E+3", "1500"),
        ("-1.50e-2", "-0.015"),
        ("1e-18", "0.000000000000000001"),
    ] {
        assert_eq!(serde_json::from_str::<Amount>(json).unwrap().to_string(), shown, "{json}");
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::from_value::<Amount>(value).unwrap(), shown.parse().unwrap(), "{json}");
    }
    for odd in ["null", "true", "[]", "{}", "\"\"", "\"free\"", "1e400", "1e-30", "\"5 000\""] {
        assert!(serde_json::from_str::<Amount>(odd).is_err(), "{odd}");
    }
}

#[test]
fn an_amount_is_shown_with_its_currency() {
    for (amount, currency, shown) in [
        ("45000", "XAF", "45 000 XAF"),
        ("5", "XAF", "5 XAF"),
        ("1234567", "USD", "12 345.67 USD"),
        ("5", "USD", "0.05 USD"),
        ("145.10", "XAF", "145.10 XAF (smallest unit)"),
        ("5000", "ZZZ", "5000 ZZZ (smallest unit)"),
        ("-5", "XAF", "-5 XAF (smallest unit)"),
        ("5000", "", "5000 (smallest unit)"),
    ] {
        assert_eq!(Amount::new(amount).unwrap().in_currency(currency), shown);
    }
}

#[test]
fn a_request_carries_whole_amounts_of_one_to_fifteen_digits() {
    let fee = |amount| CalculateFee::new(MethodCode::new("card").unwrap(), Currency::xaf(), amount);
    let plan = |amount| CreatePlan::new("Gold", PlanCode::new("gold").unwrap(), amount, BillingCycle::Monthly);
    for good in ["1", "5000", "999999999999999"] {
        let path = format!("/v1/payment-methods/fee/card/XAF/{good}?card_type=local");
        assert_eq!(assemble(&fee(good.parse().unwrap())).unwrap().target, path);
        let body = assemble(&plan(good.parse().unwrap())).unwrap().body.unwrap();
        assert!(body.contains(&format!("\"amount\":{good},")), "{body}");
    }
    for bad in ["0", "-1", "5.5", "1000000000000000"] {
        assert!(assemble(&fee(bad.parse().unwrap())).is_err(), "{bad}");
        assert!(assemble(&plan(bad.parse().unwrap())).is_err(), "{bad}");
    }
    assert_eq!(assemble(&fee("5000.00".parse().unwrap())).unwrap(), assemble(&fee(Amount::units(5_000))).unwrap());
}

#[test]
fn a_currency_is_three_capitals_and_a_country_two() {
    assert!(Currency::new("XAF").is_ok());
    assert!(Country::new("CM").is_ok());
    for bad in ["", "xaf", "XA", "XAFF", "X1F", "ХАF"] {
        assert!(Currency::new(bad).is_err(), "{bad}");
    }
    for bad in ["", "cm", "C", "CMR", "C1"] {
        assert!(Country::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_phone_is_seven_to_fifteen_digits() {
    for bad in ["", "123456", "1234567890123456", "+237670000000", "237 670 000 000", "２３７６７０００００００"]
    {
        assert!(Phone::new(bad).is_err(), "{bad}");
    }
    assert!(Phone::new("237670000000").is_ok());
}

#[test]
fn an_email_has_a_name_one_at_sign_and_a_dotted_domain() {
    for good in ["a@b.cm", "awa.ngo+shop@example.co.uk", "é@exämple.com"] {
        assert!(Email::new(good).is_ok(), "{good}");
    }
    for bad in ["", "a", "@b.cm", "a@", "a@b", "a@@b.cm", "a@b..cm", "a b@c.cm", "a@b.cm\n", "a@-b.cm"] {
        assert!(Email::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn secrets_print_as_stars() {
    let token = SessionToken::new("cst_test_0123456789");
    let secret = ClientSecret::new("pi_1_secret_0123456789");
    let checkout = CheckoutUrl::new("https://pay.example/checkout/pi_1#client_secret=pi_1_secret_0123456789");
    for printed in [format!("{token:?}"), format!("{secret:?}"), format!("{checkout:?}"), format!("{:?}", Some(&token))]
    {
        assert!(printed.contains("***") && !printed.contains("0123456789"), "{printed}");
    }
}

#[test]
fn a_value_shaped_like_a_secret_key_is_recognized() {
    for key in [
        "sk_test_1",
        "sk_live_1",
        "rk_live_1",
        "FLWSECK_TEST-1",
        " sk_test_1",
        "Bearer sk_test_1",
        "bearer sk_test_1",
        "Basic sk_test_1",
        "Token  sk_test_1",
        "\tBEARER\u{a0}rk_live_1\n",
    ] {
        assert!(looks_like_a_secret_key(key), "{key}");
    }
    for other in ["", "cst_test_1", "pi_1_secret_sk_", "pk_test_1", "skate"] {
        assert!(!looks_like_a_secret_key(other), "{other}");
    }
}

#[test]
fn a_moment_without_an_offset_is_utc() {
    let moment = Moment::new("2026-11-21T10:30:00Z");
    for text in ["2026-11-21T10:30:00", "2026-11-21 10:30:00", "2026-11-21T10:30:00.000", "2026-11-21T11:30:00+01:00"] {
        assert_eq!(Moment::new(text), moment, "{text}");
    }
    for bad in ["", "soon", "10:30", "1795257000", "21/11/2026"] {
        assert!(Moment::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn an_unknown_status_is_kept() {
    let status: IntentStatus = serde_json::from_str("\"on_hold\"").unwrap();
    assert_eq!(status, IntentStatus::Unknown("on_hold".into()));
    assert_eq!(status.as_str(), "on_hold");
    assert!(!status.is_final());
}

proptest! {
    #[test]
    fn every_amount_is_written_as_it_was_read(units in 1u64..=999_999_999_999_999) {
        let amount = Amount::units(units);
        prop_assert_eq!(amount.whole_units(), Some(units));
        prop_assert_eq!(Amount::new(&units.to_string()), Ok(amount));
        prop_assert_eq!(serde_json::to_string(&amount).unwrap(), format!("\"{units}\""));
    }

    #[test]
    fn every_moment_is_read_as_it_was_written(seconds in -62_135_596_800i64..=253_402_300_799) {
        let moment = Moment::from_unix(seconds);
        prop_assert_eq!(Moment::new(&moment.to_string()), Ok(moment));
    }

    #[test]
    fn an_amount_keeps_its_text(whole in 0u64..=u64::MAX, cents in 0u8..=99) {
        let text = format!("{whole}.{cents:02}");
        let amount: Amount = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(amount.to_string(), text);
    }

    #[test]
    fn no_text_makes_a_value_panic(text in "\\PC*") {
        let _ = (Amount::new(&text), Phone::new(&text), Moment::new(&text), Address::new(&text));
        let _ = (Email::new(text.clone()), Currency::new(text.clone()), Country::new(text.clone()), MerchantReference::new(text));
    }
}
