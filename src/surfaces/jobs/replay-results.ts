/** Stores the results of a replay in its gateway, beside the logs: there they live as long as the logs. */
import { isRecord, parseRecord } from "../../core/json.ts";
import type { NewComparison } from "../../gateways/comparisons/records.ts";
import { retentionOf } from "../../gateways/logs/collection.ts";
import type { StoreReplay } from "../../jobs/batches/store-results.ts";
import type { AppServices } from "../services.ts";

/** Of one call. */
const MAX_CHARACTERS = 2_000_000;

/** A run that is repeated stores the same results again. */
export const storeReplay =
	({
		gateways,
		gatewayLogs,
		limits,
	}: Pick<AppServices, "gateways" | "gatewayLogs" | "limits">): StoreReplay =>
	async (account, { id, replay }, lines) => {
		const gateway = replay?.gateway ?? "";
		const settings = await gateways.find(account, gateway);
		// The gateway was deleted with its logs.
		if (!settings) return;
		const logs = gatewayLogs.of(account, gateway);
		let waiting: NewComparison[] = [];
		let characters = 0;
		const send = async (): Promise<void> => {
			if (waiting.length > 0) await logs.addComparisons(id, waiting, retentionOf(settings, limits));
			waiting = [];
			characters = 0;
		};
		for await (const line of lines) {
			const comparison = comparisonIn(line);
			if (!comparison) continue;
			waiting.push(comparison);
			characters += comparison.text.length;
			if (characters >= MAX_CHARACTERS) await send();
		}
		await send();
	};

/** A line of the results. That of an answer that broke off has only an error. */
function comparisonIn(line: string): NewComparison | undefined {
	const { log, comparison } = parseRecord(line) ?? {};
	if (typeof log !== "string") return undefined;
	const fields = isRecord(comparison) ? comparison : {};
	return { log, text: JSON.stringify({ ...fields, log }) };
}
