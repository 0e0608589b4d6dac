use super::*;

#[test]
fn loses_nothing() {
    for text in [
        "null",
        "true",
        "false",
        r#""""#,
        "\"é😀\"",
        "[]",
        "{}",
        r#"[1,[2,{"a":null}]]"#,
        r#"{"b":1,"a":{"":[]}}"#,
        r#""\"\\\n\r\t\b\f\u0000\u001f/""#,
        "0",
        "-0",
        "1.0",
        "1e2",
        "1E+2",
        "0.60000000000000001",
        "9007199254740993",
        "123456789012345678901234567890",
        "1e999",
        "\"e\u{301}\"",
        "\"\u{7f}\u{2028}\u{ffff}\"",
    ] {
        let value = Json::parse(text).expect(text);
        assert_eq!(value.to_string(), text);
        assert_eq!(Json::parse(&format!(" \n\t\r{text} ")).expect(text), value);
    }
    assert_eq!(Json::parse(r#""\u00e9\uD83D\ude00\/\u0041""#), Ok("é😀/A".into()));
}

#[test]
fn refuses_what_is_no_json() {
    for text in [
        "",
        " ",
        "nul",
        "True",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "1 2",
        "\"",
        "\"\t\"",
        "\"\t",
        "\"\0\"",
        r#""\x""#,
        r#""\u12g4""#,
        r#""\u+123""#,
        r#""\u123""#,
        "\"\\u１２３４\"",
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud800\u0041""#,
        r#""\ud800\n""#,
        r#"{"\ud800":1}"#,
        "[1,]",
        "[,1]",
        "[1",
        r#"{"a"}"#,
        r#"{"a":1,}"#,
        "{a:1}",
        "[1}",
        "\u{a0}1",
        "\u{feff}1",
        "\"\\é\"",
        "\0",
    ] {
        assert!(Json::parse(text).is_err(), "{text}");
    }
    assert_eq!(Json::parse_bytes(b"\"\xc3\"").unwrap_err().to_string(), "it is no UTF-8");
    assert_eq!(Json::parse("[1,é]").unwrap_err().to_string(), "no JSON: an unexpected character at byte 3");
}

#[test]
fn refuses_a_member_that_is_there_twice() {
    for text in
        [r#"{"a":1,"\u0061":2}"#, r#"{"a":1,"b":2,"a":1}"#, r#"{"b":1,"a":1,"c":1,"b":1}"#, r#"[{"":{"x":0,"x":0}}]"#]
    {
        let e = Json::parse(text).unwrap_err().to_string();
        assert!(e.contains("a second time"), "{text}: {e}");
    }
    // Names are not normalised: these are two.
    assert_eq!(Json::parse("{\"e\u{301}\":1,\"é\":2}").unwrap().as_object().unwrap().len(), 2);
}

#[test]
fn nests_as_deep_as_a_host_admits() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |n: usize| open.repeat(n - 1) + if open == "[" { "[]" } else { "{}" } + &close.repeat(n - 1);
        let text = nested(128);
        assert_eq!(Json::parse(&text).expect("it nests 128 deep").to_string(), text);
        assert!(Json::parse(&nested(129)).is_err());
        assert!(Json::parse(&nested(100_000)).is_err());
    }
    let deep = (0..200).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
    assert!(std::panic::catch_unwind(|| deep.to_string()).is_err());
}

#[test]
fn gives_numbers_as_what_they_are() {
    let number = |literal: &'static str| Number::new(literal).expect(literal);
    assert_eq!(number("9007199254740993").to_i64(), Some(9_007_199_254_740_993));
    assert_eq!(number("9007199254740993").to_f64(), Some(9_007_199_254_740_992.0));
    assert_eq!(number("-9223372036854775808").to_i64(), Some(i64::MIN));
    assert_eq!(number("-0").to_i64(), Some(0));
    assert_eq!(number("9223372036854775808").to_i128(), Some(1 << 63));
    assert!(number("-0").is_whole() && !number("1.0").is_whole() && !number("1e2").is_whole());
    for other in ["1.0", "1e2", "9223372036854775808", "-9223372036854775809"] {
        assert_eq!(number(other).to_i64(), None, "{other}");
    }
    assert_eq!(Number::new("1".repeat(1 << 20)).unwrap().to_i64(), None);
    assert_eq!(number("1e999").to_f64(), None);
    assert_eq!(number("1e-999").to_f64(), Some(0.0));
    assert_eq!(Number::try_from(f64::NAN), Err(number::NotFinite));
    for (n, literal) in [(30.0, "30.0"), (0.6, "0.6"), (1e300, "1e300"), (-0.0, "-0.0"), (5e-324, "5e-324")] {
        assert_eq!(Number::try_from(n), Ok(number(literal)));
        assert!(Number::new(literal).is_some());
    }
}

#[test]
fn is_made_of_values() {
    let inner: Object =
        [("b", Json::from(true)), ("a", 7.into()), ("b", Vec::<Json>::new().into())].into_iter().collect();
    let made = Json::from(vec![Json::Null, u64::MAX.into(), "x\n".into(), inner.into()]);
    assert_eq!(made.to_string(), r#"[null,18446744073709551615,"x\n",{"b":[],"a":7}]"#);
    assert_eq!(Json::parse(&made.to_string()), Ok(made));
}

#[test]
fn objects_are_equal_whatever_the_order_and_numbers_by_their_literal() {
    assert_eq!(Json::parse(r#"{"a":1,"b":2}"#), Json::parse(r#"{"b":2,"a":1}"#));
    assert_ne!(Json::parse(r#"{"a":1,"b":2}"#), Json::parse(r#"{"b":2,"c":1}"#));
    assert_ne!(Json::parse("1"), Json::parse("1.0"));
}

#[test]
fn members_are_found_in_objects_of_every_size_and_order() {
    for n in [1, 7, 8, 9, 100] {
        for names in [(0..n).collect::<Vec<_>>(), (0..n).rev().collect()] {
            let text: Vec<String> = names.iter().map(|i| format!("\"m{i:03}\":{i}")).collect();
            let text = format!("{{{}}}", text.join(","));
            let value = Json::parse(&text).unwrap();
            let object = value.as_object().unwrap();
            for i in 0..n {
                assert_eq!(object.get(&format!("m{i:03}")), Some(&Json::from(i)), "{text}");
            }
            assert_eq!((object.get("m"), object.get("n"), object.len()), (None, None, n));
        }
    }
}
