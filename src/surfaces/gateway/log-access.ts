/** Reads and changes one log. */
import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { quotedName } from "../../core/not-found.ts";
import type { LogCalls } from "../../gateways/client/gateway-logs.ts";
import type { LogPatch } from "../../gateways/durable/log-table.ts";
import type { LogPayloads, LogRow, Payload, PayloadPart } from "../../gateways/logs/log-row.ts";
import { requireGateway } from "../../gateways/run/bound-caller.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { pathParameter } from "../../http/route.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { AppCall } from "../route.ts";
import type { AppServices } from "../services.ts";

export interface LogName {
	caller: Caller;
	gateway: string;
	/** The id of the log. */
	log: string;
}

/** The log in the path. */
export const logName = (c: Context, { caller }: AppCall): LogName => ({
	caller,
	gateway: pathParameter(c, "gateway"),
	log: pathParameter(c, "log"),
});

type LogServices = Pick<AppServices, "gateways" | "gatewayLogs" | "ledgers">;

const LOG_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** `undefined` for an unknown gateway, whose object must not be opened. */
export async function logsOf(
	{ caller, gateway }: Omit<LogName, "log">,
	{ gateways, gatewayLogs, ledgers }: LogServices,
): Promise<Omit<LogCalls, "append"> | undefined> {
	await requireGateway(caller, gateway, { ledgers });
	const { account } = caller;
	return (await gateways.find(account, gateway)) && gatewayLogs.of(account, gateway);
}

/** Throws 7002 for an unknown log. */
export async function readLog(name: LogName, services: LogServices): Promise<LogPayloads & { row: LogRow }> {
	const log = LOG_ID.test(name.log) && (await (await logsOf(name, services))?.log(name.log));
	if (!log) throw noSuchLog(name);
	return log;
}

/** A content of a log. Throws 7002 if there is none. */
export async function readPayload(name: LogName, part: PayloadPart, services: LogServices): Promise<Payload> {
	await readLog(name, services);
	const payload = await (await logsOf(name, services))?.payload(name.log, part);
	if (!payload) throw new AiError("notFound", `The log ${quotedName(name.log)} has no ${part}`);
	return payload;
}

/** Throws 7002 for an unknown log, and refuses metadata of a token that cannot choose its own. */
export async function changeLog(name: LogName, patch: LogPatch, services: LogServices): Promise<void> {
	const { identity } = await identifyCaller(name.caller, services.ledgers);
	if (patch.metadata !== undefined && identity?.gateway?.metadata)
		throw new AiError("forbidden", "Authentication error: the token's metadata cannot be changed");
	const exists = LOG_ID.test(name.log) && (await (await logsOf(name, services))?.patchLog(name.log, patch));
	if (!exists) throw noSuchLog(name);
}

/** Begins as the message of the runtime's class. The gateway may be the mistake. */
const noSuchLog = ({ gateway, log }: LogName): AiError =>
	new AiError("notFound", `Log Not Found: ${quotedName(log)} in the gateway ${quotedName(gateway)}`);
