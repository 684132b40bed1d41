/** `price` of a backend. Separate from prices.ts, because backends are parsed before routes. */
import * as z from "zod";
import type { Price, PriceUnit } from "../models/model.ts";
import { amount } from "./amounts.ts";
import { usdOf } from "./models.ts";

const neurons = amount;

export const UNITS = {
	input: "per M input tokens",
	output: "per M output tokens",
	request: "per inference request",
} as const satisfies Record<string, PriceUnit>;

export const price = (unit: PriceUnit, neurons: number): Price => ({ unit, neurons, usd: usdOf(neurons) });

/** Neurons per million tokens, and per request. 0 means free. */
export const BackendPrice = z
	.strictObject({ input: neurons.optional(), output: neurons.optional(), request: neurons.optional() })
	.refine((set) => Object.keys(set).length > 0, "expected input, output or request, found none of them")
	.transform(({ input, output, request }): Price[] => {
		const tokens = input !== undefined || output !== undefined;
		return [
			...(tokens ? [price(UNITS.input, input ?? 0), price(UNITS.output, output ?? 0)] : []),
			...(request === undefined ? [] : [price(UNITS.request, request)]),
		];
	});
