"""Requests that fit the OpenAPI document are refused only for reasons that such a document cannot express."""

import os
import re

import schemathesis

KEY = os.environ["FUZZ_API_KEY"]
# The key of this run and its owner: without them every response would be a 401.
KEPT = os.environ["FUZZ_KEPT_IDS"].split(",")


@schemathesis.hook
def before_call(context, case, kwargs):
    for name, value in (case.path_parameters or {}).items():
        if value in KEPT:
            case.path_parameters[name] = value[:-26] + "0" * 26


@schemathesis.hook
def filter_case(context, case):
    # Optional ids, enums and dates take "" for none. The document does not say so, since it would make their types in
    # generated clients plain strings.
    negative = case.meta is not None and not case.meta.generation.mode.is_positive
    return not (negative and isinstance(case.body, dict) and "" in case.body.values())


@schemathesis.check
def the_key_of_this_run_is_valid(ctx, response, case):
    if response.status_code == 401 and response.request.headers.get("Authorization") == f"Bearer {KEY}":
        raise AssertionError("401 with the key of this run: from here on nothing is tested")


# Reasons in the `details` of a 400 that no schema can give.
BEYOND_SCHEMAS = [
    re.compile(reason)
    for reason in [
        # The contents of the database, or the settings of this installation.
        r" does not exist$",
        r"^is not covered by a reserved domain",
        r"^must be \".*\", the only authority available",
        r"is not an event type; the most similar ones are ",
        r"^must be null for the first account",
        r"^must name a user or bot of the account ",
        r"^is not a scope: must be ",
        # Their patterns are in the document, but Schemathesis does not always follow them.
        r"^must have the form \"CLUSTER/OBJECT; ",
        r"^must be an id that starts with acc_ ",
        # Members that exclude each other.
        r"^cannot be combined with (a certificate|filter\[)",
        r"^(must begin with|requires) filter\[",
        r"^applies only to private_key_type ecdsa",
        r"^is required with a client_",
        r"^is required with an (idempotency scope|Idempotency-)",
        r"^must have exactly one of (github|webhook), ",
        r"^is required with before_(id|metadata)",
        r"^may be set only with (a|your own) client_id",
        r"^must be after ",
        r"^must be empty: a response with status \d+ has no content",
        r"^is already (at index|in )",
        r"^is the same header as ",
        # Lengths in UTF-8, and characters that PostgreSQL cannot store.
        r"bytes of UTF-8",
        r"^must have at most \d+ bytes in all",
        r"^must not contain a NUL character",
        r"^must not contain (line breaks|control characters|a carriage return|bidirectional)",
        r"^must not be blank",
        # Parts of paths and URLs.
        r"^must not contain \"",
        r"^must not have (a wildcard|the path of the discovery document)",
        r"^the port must be a number",
        r"^write international names in ASCII",
        # Times.
        r"^must not be before (1970|since)",
        r"^must be between the years 0001 and 9999",
        # Names, including the host of an address, since patterns let some invalid ones through.
        r"\bhost name\b",
        r"^(the domain: )?is not a valid internationalised domain name",
        r"^(the domain: )?is an IP address, not a domain",
        r"^(the domain: )?must have at least two labels",
        r"\" is not an IP(v6)? address",
        r"^has bits set beyond /\d+; did you mean ",
        r"^prefix length must be from 0 to ",
        r"^must be an https URL$",
        r"^must be an https URL, since EVENT_HTTP_HOSTS ",
        r"\" is not a pattern for host names or addresses",
        # Keys and certificates, which must be parsed.
        r"^(must have each|has a) -----BEGIN ",
        r"^is not PEM: ",
        r"^has text outside its PEM blocks",
        r"^must be \"whsec_\" followed by 24 to 64 bytes in base64",
        r"^has a block \(.*\) that is not base64",
        r"^is truncated: it lacks ",
        r"^has a key that ",
    ]
]


@schemathesis.check
def refused_for_what_no_schema_says(ctx, response, case):
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    unexplained = {
        place: reason
        for place, reason in response.json()["details"].items()
        if place != "request_id" and not any(known.search(reason) for known in BEYOND_SCHEMAS)
    }
    if unexplained:
        raise AssertionError(
            f"A request that fits the document was refused: {unexplained}. Let the schema say so; if no schema can, "
            "add the reason to BEYOND_SCHEMAS in dev/fuzz/hooks.py"
        )
