/** Decides which parts of a request are logged, by its options and the settings of its gateway. */
import type { KeptBytes } from "../../core/kept-bytes.ts";
import type { GatewayOptions } from "../options.ts";
import type { GatewaySettings } from "../settings.ts";

export interface LogRetention {
	/** The most logs that are kept. */
	max: number;
	strategy: "STOP_INSERTING" | "DELETE_OLDEST";
	/** Of the gateway. Absent: no bound. */
	maxBytes?: number;
	/** Of all gateways of the account. Absent: no bound. */
	accountMaxBytes?: number;
	/** When the gateway of the logs was created, in epoch milliseconds. Absent: it exists without being created. */
	createdAt?: number;
}

/** If the gateway sets none. */
const DEFAULT_MAX_LOGS = 100_000;

/** Other bodies, such as audio and images, are not collected. */
const TEXT_TYPE = /^(?:application\/(?:[\w.+-]+\+)?json|application\/x-ndjson|text\/)/i;

export const collectsLog = (options: GatewayOptions, { collect_logs }: GatewaySettings): boolean =>
	options.collectLog ?? collect_logs;

/** Whether the text of a body is collected, for the log or the export. */
export const collectsPayload = (
	options: GatewayOptions,
	settings: GatewaySettings,
	contentType: string | null,
): boolean =>
	(options.collectLogPayload ?? true) &&
	TEXT_TYPE.test(contentType ?? "") &&
	(collectsLog(options, settings) || (settings.otel ?? []).length > 0);

/** Absent for `default` and open gateways until they are created: they have no time of creation, and a deletion only resets them. */
export const creationOf = ({ created_at }: Pick<GatewaySettings, "created_at">): { createdAt?: number } => {
	const createdAt = Date.parse(created_at);
	return createdAt > 0 ? { createdAt } : {};
};

export const retentionOf = (
	settings: GatewaySettings,
	{ logBytes, accountLogBytes }: Pick<KeptBytes, "logBytes" | "accountLogBytes">,
): LogRetention => ({
	maxBytes: logBytes,
	accountMaxBytes: accountLogBytes,
	max: settings.log_management ?? DEFAULT_MAX_LOGS,
	strategy: settings.log_management_strategy ?? "DELETE_OLDEST",
	...creationOf(settings),
});
