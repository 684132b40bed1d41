/**
 * What a change of a gateway's settings does not do, for `messages` of the answer: fields that are stored without effect. A client may
 * write fields of a newer API, so they are no mistakes.
 */
import { type FieldNote, fieldNotes, unknownField } from "../core/field-notes.ts";
import { GatewayCreate, type GatewayUpdate } from "./settings.ts";

/** The product's fields that this gateway stores and never reads. */
const WITHOUT_EFFECT = [
	"log_classification",
	"logpush",
	"logpush_public_key",
	"store_id",
	"stripe",
	"workers_ai_billing_mode",
	"zdr",
];
/** A client that writes back what it has read sends them. */
const READ_ONLY = ["created_at", "modified_at", "is_default", "wholesale"];

/** `settings`: validated. */
export function settingsNotes(settings: GatewayUpdate): FieldNote[] {
	const known = [...Object.keys(GatewayCreate().shape), ...READ_ONLY];
	const fields = Object.entries(settings).filter(([, value]) => value !== null && value !== undefined);
	const messages = fields.flatMap(([name, value]) => {
		if (WITHOUT_EFFECT.includes(name))
			return value === false ? [] : `${name}: stored, but it has no effect in this gateway`;
		return known.includes(name) ? [] : unknownField(name, known, { consequence: "stored without effect" });
	});
	if (settings.rate_limiting_limit && !settings.rate_limiting_interval)
		messages.push("rate_limiting_limit: no effect, because rate_limiting_interval is 0");
	if (settings.rate_limiting_interval && !settings.rate_limiting_limit)
		messages.push("rate_limiting_interval: no effect, because rate_limiting_limit is 0");
	return fieldNotes(messages);
}
