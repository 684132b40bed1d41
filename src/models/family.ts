/** Names of the model families, and the properties of a model's families. */
import { INPUT_FAMILIES, type InputFamily, OUTPUT_FAMILIES, type OutputFamily } from "./families.ts";
import type { TaskTitle } from "./tasks.ts";

export type InputShape = keyof typeof INPUT_FAMILIES;
export type OutputShape = keyof typeof OUTPUT_FAMILIES;

export const namesOf = <Rows extends object>(rows: Rows): [keyof Rows & string, ...(keyof Rows & string)[]] =>
	// The tables are not empty, and their keys are strings.
	Object.keys(rows) as [keyof Rows & string, ...(keyof Rows & string)[]];

export const INPUT_SHAPES = namesOf(INPUT_FAMILIES);
export const OUTPUT_SHAPES = namesOf(OUTPUT_FAMILIES);

export const inputFamily = ({ input }: { input: InputShape }): InputFamily => INPUT_FAMILIES[input];
export const outputFamily = ({ output }: { output: OutputShape }): OutputFamily => OUTPUT_FAMILIES[output];

/** The input families of a task. The first is the default of an operator's model that names none. */
export function inputsOf(task: TaskTitle): readonly [InputShape, ...InputShape[]] {
	const [first, ...others] = INPUT_SHAPES.filter((input) => INPUT_FAMILIES[input].task === task);
	if (!first) throw new TypeError(`${task} has no input family`);
	return [first, ...others];
}

export const outputsOf = (input: InputShape): InputFamily["outputs"] => INPUT_FAMILIES[input].outputs;
