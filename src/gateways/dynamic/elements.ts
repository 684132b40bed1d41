/**
 * Dynamic routes: a graph of elements that chooses the model of each request. The format is that of AI Gateway's management API
 * (cloudflare/cloudflare-typescript, `resources/ai-gateway/dynamic-routing`). An unknown field of an element is kept, for editors, and
 * `unknownFields` names it. One of its properties or outputs is refused, because a misspelled limit or fallback would do nothing.
 */
import * as z from "zod";
import { type FieldNote, fieldNotes, unknownField } from "../../core/field-notes.ts";
import { lazy } from "../../core/lazy.ts";
import { testerOf } from "./conditions.ts";

const MAX_ELEMENTS = 100;
const MAX_PERCENTAGES = 5;
const MAX_TIMEOUT_MS = 3_600_000;
/** Requests, or US dollars. */
const MAX_LIMIT = 1_000_000_000;
const MAX_WINDOW_SECONDS = 31 * 24 * 3_600;

/** Of a route. It follows `dynamic/` in the name of a model. */
export const RouteName = lazy(() =>
	z.string().regex(/^[\w.-]{1,64}$/, "expected 1 to 64 letters, digits, _, . or -"),
);

const ElementId = lazy(() => z.string().min(1).max(100));
const Output = lazy(() => z.strictObject({ elementId: ElementId() }));
const base = lazy(() => ({ id: ElementId() }));

const Start = lazy(() =>
	z.looseObject({ ...base(), type: z.literal("start"), outputs: z.strictObject({ next: Output() }) }),
);
const Conditional = lazy(() =>
	z.looseObject({
		...base(),
		type: z.literal("conditional"),
		properties: z.strictObject({
			conditions: z.record(z.string(), z.unknown()).superRefine((conditions, { addIssue }) => {
				const problem = testerOf(conditions).problem;
				if (problem) addIssue({ code: "custom", message: problem });
			}),
		}),
		outputs: z.strictObject({ true: Output(), false: Output() }),
	}),
);
const Percentage = lazy(() =>
	z.looseObject({
		...base(),
		type: z.literal("percentage"),
		outputs: z
			.record(z.string().regex(/^\d{1,3}(?:\.\d{1,2})?%$/, 'expected a percentage, such as "10%"'), Output())
			.refine(
				(outputs) => Object.keys(outputs).length <= MAX_PERCENTAGES,
				`expected at most ${MAX_PERCENTAGES} outputs`,
			)
			.refine((outputs) => Math.abs(sharesOf(outputs) - 100) < 1e-6, "expected percentages that sum to 100"),
	}),
);
const Rate = lazy(() =>
	z.looseObject({
		...base(),
		type: z.literal("rate"),
		properties: z.strictObject({
			limitType: z.enum(["count", "cost"]),
			/** A path, such as `metadata.user_id`: each of its values has a limit of its own. */
			key: z.string().max(256),
			/** Requests, or US dollars. */
			limit: z.number().positive().max(MAX_LIMIT),
			/** Seconds. */
			window: z.int().positive().max(MAX_WINDOW_SECONDS),
		}),
		outputs: z.strictObject({ success: Output(), fallback: Output().optional() }),
	}),
);
const ModelElement = lazy(() =>
	z.looseObject({
		...base(),
		type: z.literal("model"),
		properties: z.strictObject({
			provider: z.string().min(1).max(64),
			model: z.string().min(1).max(256),
			/** Milliseconds to the first byte. */
			timeout: z.int().min(0).max(MAX_TIMEOUT_MS).optional(),
			retries: z.int().min(0).max(4).optional(),
		}),
		outputs: z.strictObject({ success: Output(), fallback: Output().optional() }),
	}),
);
const End = lazy(() =>
	z.looseObject({
		...base(),
		type: z.literal("end"),
		outputs: z.record(z.string(), Output()).optional(),
	}),
);

const Element = lazy(() =>
	z.discriminatedUnion("type", [Start(), Conditional(), Percentage(), Rate(), ModelElement(), End()]),
);
export type Element = z.infer<ReturnType<typeof Element>>;
export type RateElement = z.infer<ReturnType<typeof Rate>>;
export type ModelElement = z.infer<ReturnType<typeof ModelElement>>;

export const Elements = lazy(() =>
	z
		.array(Element())
		.max(MAX_ELEMENTS)
		.superRefine((elements, { addIssue }) => {
			for (const message of problemsOf(elements)) addIssue({ code: "custom", message });
		}),
);

const FIELDS = ["id", "type", "properties", "outputs"];

export const unknownFields = (elements: readonly Element[]): FieldNote[] =>
	fieldNotes(
		elements.flatMap((element, index) =>
			Object.keys(element)
				.filter((name) => !FIELDS.includes(name))
				.map((name) =>
					unknownField(name, FIELDS, {
						path: `elements[${index}].${name}`,
						consequence: "stored without effect",
					}),
				),
		),
	);

/** The models that the elements name, as `compat` has them, with the paths of their fields. */
export const modelsIn = (elements: readonly Element[]): { path: string; name: string }[] =>
	elements.flatMap((element, index) => {
		if (element.type !== "model") return [];
		const { model, provider } = element.properties;
		return [{ path: `elements[${index}].properties.model`, name: `${provider}/${model}` }];
	});

export const outputsOf = ({ outputs }: Element): [name: string, elementId: string][] =>
	Object.entries(outputs ?? {}).flatMap(([name, output]) => (output ? [[name, output.elementId]] : []));

const sharesOf = (outputs: Record<string, unknown>): number =>
	Object.keys(outputs).reduce((sum, share) => sum + Number.parseFloat(share), 0);

function problemsOf(elements: readonly Element[]): string[] {
	const byId = new Map(elements.map((element) => [element.id, element]));
	const starts = elements.filter(({ type }) => type === "start");
	const problems: string[] = [];
	if (byId.size < elements.length) problems.push("expected elements with different ids");
	if (starts.length !== 1) problems.push(`expected one element of type "start", found ${starts.length}`);
	for (const element of elements)
		for (const [name, elementId] of outputsOf(element))
			if (!byId.has(elementId))
				problems.push(`the output ${name} of ${element.id} names ${elementId}, which is no element`);
	const [start] = starts;
	if (problems.length === 0 && start && hasCycle(start, byId)) problems.push("expected no cycle of elements");
	return problems;
}

/** Depth-first. An element that is visited again before its outputs are done closes a cycle. */
function hasCycle(start: Element, byId: ReadonlyMap<string, Element>): boolean {
	const done = new Set<string>();
	const visit = (element: Element, path: ReadonlySet<string>): boolean => {
		if (path.has(element.id)) return true;
		if (done.has(element.id)) return false;
		const longer = new Set([...path, element.id]);
		const cyclic = outputsOf(element).some(([, id]) => {
			const next = byId.get(id);
			return next !== undefined && visit(next, longer);
		});
		done.add(element.id);
		return cyclic;
	};
	return visit(start, new Set());
}
