"""Requests that match the OpenAPI document are rejected only for reasons that such a document cannot express."""

import os
import re

import schemathesis

KEY = os.environ["FUZZ_API_KEY"]
# The key of this run and its owner: without them every response would be 401.
KEPT = os.environ["FUZZ_KEPT_IDS"].split(",")


@schemathesis.hook
def before_call(context, case, kwargs):
    for name, value in (case.path_parameters or {}).items():
        if value in KEPT:
            case.path_parameters[name] = value[:-26] + "0" * 26


@schemathesis.check
def the_key_of_this_run_is_valid(ctx, response, case):
    if response.status_code == 401 and response.request.headers.get("Authorization") == f"Bearer {KEY}":
        raise AssertionError("401 with the key of this run: nothing is tested from here on")


# Reasons in the `details` of a 400 that no schema can express.
BEYOND_SCHEMAS = [
    re.compile(reason)
    for reason in [
        # The contents of the database, or this installation.
        r"^there is no ",
        r"^is below no reserved domain",
        r"^must be \".*\", the only authority here",
        r"is no event type; the nearest are ",
        # Members that exclude each other.
        r"^excludes a certificate",
        r"^is for private_key_type ecdsa",
        r"^is required with a client_",
        r"^may be set only with a client_id",
        r"^must be after ",
        r"^must be empty: a response with status \d+ has no content",
        r"^is already (at index|in )",
        r"^is the same header as ",
        # Lengths in UTF-8, and characters that PostgreSQL cannot store.
        r"bytes of UTF-8",
        r"^must have at most \d+ bytes in all",
        r"^must not contain a NUL character",
        # Times.
        r"^must not be before 1970",
        r"^must be in the years 0001 to 9999",
        # Names (also hosts in URLs): patterns accept some that are invalid.
        r"\bhost name\b",
        r"^(the domain: )?is no valid internationalised domain name",
        r"^(the domain: )?is an IP address, not a domain",
        r"^(the domain: )?must have at least two labels",
        r"\" is no IP(v6)? address",
        r"^has bits set beyond /\d+; did you mean ",
        r"^prefix length must be from 0 to ",
        r"^must be an https URL$",
        # Keys and certificates, which have to be parsed.
        r"^is not PEM: ",
        r"^has text outside of its PEM blocks",
        r"^must be \"whsec_\" followed by 24 to 64 bytes in base64",
        r"^has a block \(.*\) that is not base64",
        r"^is cut off: there is no ",
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
            f"A request that matches the document was rejected: {unexplained}. Express this in the schema; if no schema can, "
            "add the reason to BEYOND_SCHEMAS in dev/fuzz/hooks.py"
        )
