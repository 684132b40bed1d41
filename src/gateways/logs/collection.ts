/** Decides which parts of a request are logged, by its options and the settings of its gateway. */
import type { LogRetention } from "../durable/gateway.ts";
import type { GatewayOptions } from "../options.ts";
import type { GatewaySettings } from "../settings.ts";

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

export const retentionOf = ({ log_management, log_management_strategy }: GatewaySettings): LogRetention => ({
	max: log_management ?? DEFAULT_MAX_LOGS,
	strategy: log_management_strategy ?? "DELETE_OLDEST",
});
