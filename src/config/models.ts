/** `MODELS`: models of the operator, and changed facts of models of the catalogue. */
import * as z from "zod";
import { quote } from "../core/did-you-mean.ts";
import { adHocModel, type Catalog } from "../models/catalog.ts";
import {
	INPUT_SHAPES,
	type InputShape,
	inputsOf,
	OUTPUT_SHAPES,
	type OutputShape,
	outputsOf,
} from "../models/family.ts";
import { CAPABILITIES, type Model, PRICE_UNITS } from "../models/model.ts";
import { USD_PER_NEURON } from "../models/neurons.ts";
import { TASK_TITLES, type TaskTitle } from "../models/tasks.ts";
import { list } from "../schemas/explain.ts";
import { amount, positiveCount } from "./amounts.ts";
import { camelCased } from "./camel-case.ts";
import type { Path, Problems } from "./problems.ts";

/** Enough digits for any price, and fewer than the error of binary fractions. */
const USD_DIGITS = 12;

/** Cloudflare's price of this many neurons, in US dollars. */
export const usdOf = (neurons: number): number => Number((neurons * USD_PER_NEURON).toPrecision(USD_DIGITS));

const count = positiveCount;

const OperatorModel = z.strictObject({
	task: z.enum(TASK_TITLES).optional(),
	description: z.string().optional(),
	created: z.iso.date("expected a date (YYYY-MM-DD), found another value").optional(),
	context_window: count.optional(),
	max_input_tokens: count.optional(),
	dimensions: count.optional(),
	input: z.enum(INPUT_SHAPES).optional(),
	output: z.enum(OUTPUT_SHAPES).optional(),
	defaults: z.record(z.string(), z.unknown()).optional(),
	prices: z
		.array(
			z.strictObject({
				unit: z.enum(PRICE_UNITS),
				neurons: amount,
				above_input_tokens: count.optional(),
			}),
		)
		.optional(),
	capabilities: z.array(z.enum(CAPABILITIES)).optional(),
});
type OperatorModel = z.output<typeof OperatorModel>;

/** A new model must name its task. */
const NewModel = OperatorModel.extend({ task: z.enum(TASK_TITLES) });

/** The fields that decide the families, parsed separately: a mistake in another field must not hide one here. */
const Named = z
	.object({
		task: OperatorModel.shape.task.catch(undefined),
		input: OperatorModel.shape.input.catch(undefined),
		output: OperatorModel.shape.output.catch(undefined),
	})
	.partial()
	.catch({});
type Named = z.output<typeof Named>;

/** The fields of an entry have precedence over the catalogue's; a new model gets the defaults of its task. */
export function readModels(entries: [string, unknown][], catalog: Catalog, problems: Problems): Model[] {
	return entries.flatMap(([id, entry]) => {
		const path: Path = ["MODELS", id];
		if (!/^[^\s*]+$/.test(id))
			problems.add(path, "expected the id of one model, found spaces, a pattern or nothing");
		const known = catalog.find(id);
		const own = problems.parse(known ? OperatorModel : NewModel, entry, path);
		const named = Named.parse(entry);
		const task = named.task ?? known?.task;
		if (!task) return [];
		const shapes = readShapes(task, named, known, path, problems);
		return own ? [{ ...base(id, task, shapes.input, known), ...facts(own), task, ...shapes }] : [];
	});
}

function base(id: string, task: TaskTitle, input: InputShape, known: Model | undefined): Model {
	if (!known) {
		const model: Model = { ...adHocModel(id), status: "active" };
		return task === model.task ? model : { ...model, capabilities: [] };
	}
	// Fields and defaults belong to the input family.
	const { inputFields: _, ...rest } = known;
	return known.input === input ? known : { ...rest, defaults: {} };
}

const facts = ({ prices, ...own }: OperatorModel): Partial<Model> => ({
	...camelCased(own),
	...(prices && {
		prices: prices.map((price) => ({ ...camelCased(price), usd: usdOf(price.neurons) })),
	}),
});

/** The configured families; otherwise the catalogue's if they fit the task; otherwise the task's defaults. */
function readShapes(
	task: TaskTitle,
	named: Named,
	known: Model | undefined,
	path: Path,
	problems: Problems,
): { input: InputShape; output: OutputShape } {
	const input = named.input ?? fitting(known?.input, inputsOf(task));
	if (!inputsOf(task).includes(input))
		problems.add([...path, "input"], unfit(inputsOf(task), `for ${task}`, input));
	const output = named.output ?? fitting(known?.output, outputsOf(input));
	if (!outputsOf(input).includes(output))
		problems.add([...path, "output"], unfit(outputsOf(input), `for input ${quote(input)}`, output));
	return { input, output };
}

const fitting = <T>(wanted: T | undefined, usual: readonly [T, ...T[]]): T =>
	wanted !== undefined && usual.includes(wanted) ? wanted : usual[0];

const unfit = (fit: readonly string[], purpose: string, found: string): string =>
	`expected ${list([...new Set(fit)].map(quote), "or")} ${purpose}, found ${quote(found)}`;
