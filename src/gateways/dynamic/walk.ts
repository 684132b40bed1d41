import { type RequestFacts, testerOf, valueAt } from "./conditions.ts";
import type { Element, ModelElement, RateElement } from "./elements.ts";

export interface WalkContext {
	facts: RequestFacts;
	/** 0 to 1, without 1. */
	random(): number;
	/** Whether the limit has room for the request with this value of its key. Counts the request. */
	admit(limit: RateElement, value: string): Promise<boolean>;
}

/** `limited`: a rate without a fallback is used up. */
type WalkEnd = "end" | "limited";

/**
 * Follows a route from its start. Yields each model to call, and receives whether that succeeded. Elements must be valid
 * (`elements.ts`): without cycles, so that the walk ends.
 */
export async function* walk(
	elements: readonly Element[],
	context: WalkContext,
): AsyncGenerator<ModelElement, WalkEnd, boolean> {
	const byId = new Map(elements.map((element) => [element.id, element]));
	let element = elements.find(({ type }) => type === "start");
	while (element) {
		let next: { elementId: string } | undefined;
		switch (element.type) {
			case "start":
				next = element.outputs.next;
				break;
			case "conditional":
				next = testerOf(element.properties.conditions).test(context.facts)
					? element.outputs.true
					: element.outputs.false;
				break;
			case "percentage":
				next = drawn(element.outputs, context.random() * 100);
				break;
			case "rate": {
				const value = valueAt(element.properties.key, context.facts);
				// The product does not limit a request without the key.
				const admitted = value === undefined || (await context.admit(element, value));
				next = admitted ? element.outputs.success : element.outputs.fallback;
				if (!next) return "limited";
				break;
			}
			case "model":
				next = (yield element) ? element.outputs.success : element.outputs.fallback;
				break;
			case "end":
				break;
			default:
				element satisfies never;
		}
		element = next && byId.get(next.elementId);
	}
	return "end";
}

/** `point`: 0 to 100. Rounding may leave it beyond the last share. */
function drawn<Output>(outputs: Readonly<Record<string, Output>>, point: number): Output | undefined {
	let end = 0;
	for (const [share, output] of Object.entries(outputs)) {
		end += Number.parseFloat(share);
		if (point < end) return output;
	}
	return Object.values(outputs).at(-1);
}
