/** Placeholders for the string formats of JSON Schema, of names and numbers that are reserved for examples (RFC 2606, 5737, 3849). */
import { own } from "../../core/own.ts";

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2000, 0, 1);
const at = (ms: number): string => new Date(FIRST_DAY + ms).toISOString();

const url = (nth: number): string => `https://example.com/simulated${nth || ""}`;
const email = (nth: number): string => `simulated${nth || ""}@example.com`;
const host = (nth: number): string => `simulated${nth || ""}.example.com`;

const SAMPLES: Record<string, (nth: number) => string> = {
	email,
	"idn-email": email,
	uri: url,
	url,
	iri: url,
	"uri-reference": url,
	"uri-template": url,
	date: (nth) => at(nth * DAY_MS).slice(0, 10),
	time: (nth) =>
		at(nth * 1000)
			.slice(11, 19)
			.concat("Z"),
	"date-time": (nth) => at(nth * 1000).replace(".000", ""),
	duration: (nth) => `P${nth + 1}D`,
	hostname: host,
	"idn-hostname": host,
	ipv4: (nth) => `192.0.2.${(nth % 254) + 1}`,
	ipv6: (nth) => `2001:db8::${(nth + 1).toString(16)}`,
	uuid: (nth) => `00000000-0000-4000-8000-${nth.toString(16).padStart(12, "0")}`,
	regex: (nth) => `simulated${nth || ""}`,
	"json-pointer": (nth) => `/simulated${nth || ""}`,
	"json-pointer-uri-fragment": (nth) => `#/simulated${nth || ""}`,
	"relative-json-pointer": (nth) => `${nth}`,
};

/** A different one for each `nth`. Undefined for a format without a rule. */
export const sample = (format: string, nth: number): string | undefined => own(SAMPLES, format)?.(nth);
