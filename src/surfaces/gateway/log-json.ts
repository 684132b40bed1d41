/** Logs of a gateway as AI Gateway's API shows them, and the fields that a caller may change. */
import * as z from "zod";
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { present } from "../../core/present.ts";
import type { LogPatch } from "../../gateways/durable/log-table.ts";
import { type LogPayloads, type LogRow, type Payload, timeOfId } from "../../gateways/logs/log-row.ts";
import { HEAD_CHARACTERS } from "../../gateways/logs/payload.ts";
import { MetadataSchema } from "../../gateways/options.ts";

export const LogPatchBody = lazy(() =>
	z.object({
		feedback: z.literal([1, -1, 0]).nullish(),
		score: z.number().nullish(),
		metadata: MetadataSchema().nullish(),
	}),
);

export const patchOf = ({
	feedback,
	score,
	metadata,
}: z.output<ReturnType<typeof LogPatchBody>>): LogPatch => ({
	...(feedback !== undefined && { feedback }),
	...(score !== undefined && { score }),
	...(metadata !== undefined && { metadata: metadata && JSON.stringify(metadata) }),
});

/** Without the bodies and their sizes. */
export function logListJson(row: LogRow): object {
	const { first_byte, event_id, compatibility_mode, request_size, response_size, error: _, ...others } = row;
	const { metadata, dlp, guardrails, ...fields } = others;
	const { tokens_in, tokens_out } = row;
	return {
		...present(fields),
		tokens_in,
		tokens_out,
		created_at: new Date(timeOfId(row.id)).toISOString(),
		success: row.success === 1,
		cached: row.cached === 1,
		custom_cost: row.custom_cost === 1,
		authentication: row.authentication === 1,
		wholesale: row.wholesale === 1,
		byok: row.byok === 1,
		usage_estimated: row.usage_estimated === 1,
		compatibilityMode: compatibility_mode === 1,
		event_id: event_id ?? row.id,
		...present({
			metadata: jsonOf(metadata),
			dlp: jsonOf(dlp),
			guardrails: jsonOf(guardrails),
		}),
		...(first_byte !== null && { timings: { latency: first_byte } }),
	};
}

const jsonOf = (text: string | null): unknown => (text === null ? undefined : parseJson(text));

export const logJson = ({ row, request, response }: LogPayloads & { row: LogRow }): object => ({
	...logListJson(row),
	request_size: row.request_size ?? 0,
	...head("request", request),
	response_size: row.response_size ?? 0,
	...head("response", response),
});

const head = (name: string, payload: Payload | undefined): object => ({
	...(payload && { [`${name}_head`]: payload.text.slice(0, HEAD_CHARACTERS) }),
	[`${name}_head_complete`]: payload ? payload.complete && payload.text.length <= HEAD_CHARACTERS : false,
});
