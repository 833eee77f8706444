//! Tests of [`super`]: what arguments are on the wire.

use serde_json::json;

use super::*;

fn parameter(place: ParameterLocation, style: ParameterStyle, explode: bool) -> OperationParameter {
    OperationParameter {
        argument: "a".to_owned(),
        name: "n".to_owned(),
        place,
        style,
        explode,
    }
}

fn binding(
    path: &str,
    parameters: Vec<OperationParameter>,
    body: Option<BodyEncoding>,
) -> HttpBinding {
    HttpBinding {
        method: HttpMethod::Post,
        path: path.to_owned(),
        parameters,
        body,
        takes_key: false,
    }
}

fn written(binding: &HttpBinding, arguments: &Value) -> Result<HttpRequest, String> {
    build(
        binding,
        "https://a.example/v1",
        arguments.as_object().unwrap(),
    )
}

#[test]
fn queries_are_written_in_their_styles() {
    let list = json!(["x y", 1, true]);
    let object = json!({"k": "v&", "l": 2});
    let cases = [
        (
            ParameterStyle::Form,
            true,
            json!("a b/ä"),
            "n=a%20b%2F%C3%A4",
        ),
        (
            ParameterStyle::Form,
            true,
            list.clone(),
            "n=x%20y&n=1&n=true",
        ),
        (ParameterStyle::Form, false, list.clone(), "n=x%20y,1,true"),
        (ParameterStyle::Form, true, object.clone(), "k=v%26&l=2"),
        (ParameterStyle::Form, false, object.clone(), "n=k,v%26,l,2"),
        (
            ParameterStyle::SpaceDelimited,
            false,
            list.clone(),
            "n=x%20y%201%20true",
        ),
        (
            ParameterStyle::PipeDelimited,
            false,
            list.clone(),
            "n=x%20y%7C1%7Ctrue",
        ),
        (
            ParameterStyle::DeepObject,
            true,
            object.clone(),
            "n%5Bk%5D=v%26&n%5Bl%5D=2",
        ),
        (
            ParameterStyle::DeepObject,
            true,
            json!({"in": {"x": [1, 2], "no": null}}),
            "n%5Bin%5D%5Bx%5D%5B0%5D=1&n%5Bin%5D%5Bx%5D%5B1%5D=2",
        ),
        (
            ParameterStyle::Json,
            false,
            object,
            "n=%7B%22k%22%3A%22v%26%22%2C%22l%22%3A2%7D",
        ),
    ];
    for (style, explode, value, expected) in cases {
        let binding = binding(
            "/p",
            vec![parameter(ParameterLocation::Query, style, explode)],
            None,
        );
        let found = written(&binding, &json!({"a": value})).unwrap();
        let expected = format!("https://a.example/v1/p?{expected}");
        assert_eq!(found.url, expected, "{style:?} {explode} {value}");
    }
    let optional = binding(
        "/p",
        vec![parameter(
            ParameterLocation::Query,
            ParameterStyle::Form,
            true,
        )],
        None,
    );
    for arguments in [json!({}), json!({"a": null})] {
        assert_eq!(
            written(&optional, &arguments).unwrap().url,
            "https://a.example/v1/p"
        );
    }
}

#[test]
fn a_path_stays_the_path_it_is() {
    let cases = [
        (json!("a/../b?c#d"), Ok("a%2F..%2Fb%3Fc%23d")),
        (json!(7), Ok("7")),
        (json!(["a", "b,c"]), Ok("a,b%2Cc")),
        (json!({"k": 1}), Ok("k,1")),
        (json!("{n}"), Ok("%7Bn%7D")),
        (json!(".."), Err("an argument would lead to another path")),
        (json!("."), Err("an argument would lead to another path")),
        (json!(""), Err("the argument a must not be empty")),
        (json!(null), Err("the argument a must not be empty")),
        (json!([]), Err("the argument a must not be empty")),
    ];
    let binding = binding(
        "/p/{n}/q",
        vec![parameter(
            ParameterLocation::Path,
            ParameterStyle::Simple,
            false,
        )],
        None,
    );
    for (value, expected) in cases {
        let found = written(&binding, &json!({"a": value})).map(|written| written.url);
        let expected = expected
            .map(|part| format!("https://a.example/v1/p/{part}/q"))
            .map_err(str::to_owned);
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn a_header_is_one_line() {
    let binding = binding(
        "/",
        vec![parameter(
            ParameterLocation::Header,
            ParameterStyle::Simple,
            true,
        )],
        None,
    );
    let cases = [
        (json!(["a", "b"]), Some("a,b")),
        (json!({"k": "v"}), Some("k=v")),
        (json!("a\r\nX-Evil: 1"), None),
        (json!("ä"), None),
    ];
    for (value, expected) in cases {
        let found = written(&binding, &json!({"a": value})).ok();
        let found = found.map(|written| written.headers[0].1.clone());
        assert_eq!(found.as_deref(), expected, "{value}");
    }
}

#[test]
fn bodies_are_written_in_their_media_types() {
    let body = |media, value: Value| {
        let found = written(
            &binding("/", Vec::new(), Some(media)),
            &json!({"body": value}),
        )?;
        let text = String::from_utf8(found.body).unwrap();
        Ok::<_, String>((found.headers[0].1.clone(), text))
    };
    let json_media = || BodyEncoding::Json {
        media_type: "application/x+json".to_owned(),
    };
    let form = || BodyEncoding::Form {
        deep: vec!["card".to_owned()],
    };
    let text = || BodyEncoding::Text {
        media_type: "text/plain".to_owned(),
    };
    assert_eq!(
        body(json_media(), json!(null)).unwrap(),
        ("application/x+json".to_owned(), "null".to_owned())
    );
    assert_eq!(
        body(
            form(),
            json!({"a b": [1, 2], "card": {"n": 1}, "o": {"x": 1}})
        )
        .unwrap(),
        (
            "application/x-www-form-urlencoded".to_owned(),
            "a%20b=1&a%20b=2&card%5Bn%5D=1&o=%7B%22x%22%3A1%7D".to_owned()
        )
    );
    assert_eq!(
        body(text(), json!("ä")).unwrap(),
        ("text/plain; charset=utf-8".to_owned(), "ä".to_owned())
    );
    assert!(body(text(), json!(1)).is_err());
    assert!(body(form(), json!("a=b")).is_err());
    let without = written(&binding("/", Vec::new(), Some(json_media())), &json!({})).unwrap();
    assert_eq!((without.headers, without.body), (Vec::new(), Vec::new()));
}

proptest::proptest! {
    /// No argument leads out of the path of its operation, or adds a part to it.
    #[test]
    fn no_argument_leads_elsewhere(value in ".*") {
        let binding = binding(
            "/p/{n}",
            vec![parameter(ParameterLocation::Path, ParameterStyle::Simple, false)],
            None,
        );
        if let Ok(found) = written(&binding, &json!({"a": value})) {
            let url = url::Url::parse(&found.url).unwrap();
            let parts: Vec<_> = url.path_segments().unwrap().collect();
            proptest::prop_assert_eq!(parts.len(), 3);
            proptest::prop_assert_eq!(&parts[..2], &["v1", "p"]);
            proptest::prop_assert_eq!((url.query(), url.fragment()), (None, None));
        }
    }
}
