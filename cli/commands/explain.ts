/** `ganglion explain MODEL`: which engines would serve a request and what it would cost. Calls no engine. */
import * as z from "zod";
import { type ConnectionFlags, GatewayClient } from "../gateway-client.ts";
import { printJson } from "../table.ts";

const Plan = z.looseObject({
	model: z.string(),
	task: z.string().optional(),
	refused: z.array(z.looseObject({ message: z.string() })),
	price: z
		.looseObject({
			source: z.string(),
			rows: z.array(z.object({ unit: z.string(), neurons: z.number() })),
			note: z.string().optional(),
		})
		.optional(),
	estimate: z.looseObject({ neurons: z.number() }).optional(),
	targets: z
		.array(
			z.looseObject({
				backend: z.string(),
				replica: z.looseObject({ host: z.string().optional() }).optional(),
				model: z.string().optional(),
				circuit: z.string().optional(),
				why: z.string().optional(),
			}),
		)
		.optional(),
});

export interface ExplainFlags extends ConnectionFlags {
	/** A JSON body of a run. */
	body?: unknown;
}

export async function explainCommand(model: string, prompt: string, flags: ExplainFlags): Promise<number> {
	const plan = await new GatewayClient(flags).result(`/ai/explain/${model}`, Plan, {
		method: "POST",
		body: flags.body ?? { prompt },
	});
	if (flags.json) printJson(plan);
	else console.log(describeRequest(plan));
	return plan.refused.length > 0 ? 1 : 0;
}

export function describeRequest({
	model,
	task,
	refused,
	price,
	estimate,
	targets = [],
}: z.output<typeof Plan>): string {
	const rows = price?.rows.map(({ unit, neurons }) => `${neurons} neurons ${unit}`).join(", ");
	return [
		`${model}${task === undefined ? "" : `  (${task})`}`,
		...refused.map(({ message }) => `  ✗ ${message}`),
		...targets.map(
			({ backend, replica, model: name, circuit, why }, index) =>
				`  ${index + 1}. ${backend}${replica?.host === undefined ? "" : ` at ${replica.host}`}${name === undefined || name === model ? "" : ` ${name}`}${
					circuit === undefined || circuit === "closed" ? "" : ` (circuit ${circuit})`
				}${why === undefined ? "" : `: ${why}`}`,
		),
		...(price && rows ? [`  price (${price.source}): ${rows}`] : []),
		...(price?.note === undefined ? [] : [`  ${price.note}`]),
		...(estimate && rows !== "" ? [`  reserves at most ${estimate.neurons} neurons`] : []),
	].join("\n");
}
