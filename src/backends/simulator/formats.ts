/** Strings of JSON Schema's formats: what a text has of that kind, and one that is plainly made up. */
import { dates, emails, times, urls } from "./phrases.ts";

/** Values of the format in the text. */
export function ofFormat(format: string, text: string, now: number): string[] {
	switch (format) {
		case "email":
		case "idn-email":
			return emails(text).map(({ value }) => value);
		case "uri":
		case "url":
		case "iri":
		case "uri-reference":
			return urls(text).map(({ value }) => value);
		case "date":
			return dates(text, now).map(({ iso }) => iso);
		case "time":
			return times(text).map(({ clock }) => `${clock}Z`);
		case "date-time": {
			const [time] = times(text);
			return dates(text, now).map(({ iso, value }) =>
				/^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:\d{2})$/.test(value)
					? value
					: `${iso}T${time?.clock ?? "00:00:00"}Z`,
			);
		}
		case "ipv4":
			return text.match(/\b(?:\d{1,3}\.){3}\d{1,3}\b/g) ?? [];
		case "uuid":
			return text.match(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi) ?? [];
		default:
			return [];
	}
}

// The names and numbers reserved for examples (RFC 2606, 5737, 3849) and the epoch: nobody takes them for found ones.
const SAMPLES: Record<string, (nth: number) => string> = {
	email: (nth) => `user${nth || ""}@example.com`,
	"idn-email": (nth) => `user${nth || ""}@example.com`,
	uri: (nth) => `https://example.com/${nth || ""}`,
	url: (nth) => `https://example.com/${nth || ""}`,
	iri: (nth) => `https://example.com/${nth || ""}`,
	"uri-reference": (nth) => `/${nth || ""}`,
	"uri-template": (nth) => `/{id}${nth || ""}`,
	date: (nth) => new Date(nth * 86_400_000).toISOString().slice(0, 10),
	time: (nth) => new Date(nth * 1000).toISOString().slice(11, 19).concat("Z"),
	"date-time": (nth) => new Date(nth * 1000).toISOString(),
	duration: (nth) => `P${nth + 1}D`,
	hostname: (nth) => `host${nth || ""}.example.com`,
	"idn-hostname": (nth) => `host${nth || ""}.example.com`,
	ipv4: (nth) => `192.0.2.${(nth % 254) + 1}`,
	ipv6: (nth) => `2001:db8::${(nth + 1).toString(16)}`,
	uuid: (nth) => `00000000-0000-4000-8000-${nth.toString(16).padStart(12, "0")}`,
	regex: (nth) => `a${nth || ""}`,
	"json-pointer": (nth) => `/${nth}`,
	"json-pointer-uri-fragment": (nth) => `#/${nth}`,
	"relative-json-pointer": (nth) => `${nth}`,
};

/** A made-up value; another for each `nth`. Undefined for a format without a rule. */
export const sample = (format: string, nth: number): string | undefined =>
	Object.hasOwn(SAMPLES, format) ? SAMPLES[format]?.(nth) : undefined;
