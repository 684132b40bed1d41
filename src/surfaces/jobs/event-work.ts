/**
 * Delivers the events of batches: to the queue of the binding `BATCH_EVENTS`, and to the webhook of the account, signed as Standard Webhooks
 * (https://www.standardwebhooks.com). The durable queue repeats a delivery that fails.
 */
import { addressProblem } from "../../gateways/providers/public-host.ts";
import type { EventPayload } from "../../jobs/batches/events.ts";
import { type Webhook, webhookOf } from "../../jobs/batches/settings.ts";
import { encodeBase64 } from "../../media/base64.ts";
import { SHORT_CALLS } from "../../outbound/limits.ts";
import { shortCall } from "../../outbound/short-call.ts";
import { PermanentWorkError, type WorkHandler } from "../../storage/queue/work.ts";
import type { AppServices } from "../services.ts";

/** With the waits of the queue: about three days, as OpenAI. */
const MAX_ATTEMPTS = 440;
/** The receiver wants no further events. */
const GONE = 410;
const SECOND_MS = 1_000;

type EventServices = Pick<
	AppServices,
	"batchEvents" | "fetch" | "gatewayRules" | "jobSettings" | "now" | "publicFetch" | "publicUrl"
>;

export const eventWork = (services: EventServices): WorkHandler => ({
	maxAttempts: MAX_ATTEMPTS,
	async run({ account, payload }) {
		const { event, receiver } = payload as EventPayload;
		if (receiver === "queue") {
			await services.batchEvents?.send({ account, ...event });
			return;
		}
		// A configuration that was changed meanwhile has none.
		const webhook = webhookOf(services.jobSettings, account);
		if (webhook) await post(event, webhook, services);
	},
});

async function post(event: EventPayload["event"], webhook: Webhook, services: EventServices): Promise<void> {
	const { fetch, gatewayRules, now, publicFetch, publicUrl } = services;
	const { url } = webhook;
	const problem = addressProblem(url, { ...gatewayRules, publicUrl });
	if (problem !== undefined) throw new PermanentWorkError(`The webhook of JOBS cannot be called: ${problem}`);
	const body = JSON.stringify(event);
	const timestamp = String(Math.floor(now() / SECOND_MS));
	const { ok, status } = await shortCall({
		fetch: (!gatewayRules.allowPrivateAddresses && publicFetch) || fetch,
		url,
		method: "POST",
		body,
		headers: {
			"content-type": "application/json",
			"webhook-id": event.id,
			"webhook-timestamp": timestamp,
			"webhook-signature": `v1,${await signatureOf(`${event.id}.${timestamp}.${body}`, webhook.secret)}`,
		},
		...SHORT_CALLS.webhook,
	});
	if (ok) return;
	if (status === GONE) throw new PermanentWorkError("The webhook answered with status 410");
	throw new Error(`The webhook answered with status ${status}`);
}

/** HMAC with SHA-256, in base64. */
async function signatureOf(text: string, secret: Uint8Array<ArrayBuffer>): Promise<string> {
	const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, [
		"sign",
	]);
	return encodeBase64(new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text))));
}
