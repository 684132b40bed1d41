/** Reads the text fields of a form: the inputs of FLUX.2 and of OpenAI's routes for files. */
import * as z from "zod";
import { validate } from "../validation/validation.ts";
import { FormBody, type MultipartForm, type WrappedForm } from "./multipart.ts";

/** The body schema of routes whose only input is a form. */
export const FormInput = z.object({ multipart: FormBody });
export type FormInput = { multipart: WrappedForm };

interface FieldRules {
	/** Fields that are numbers. Text that is not a number stays text, and the schema refuses it. */
	numbers: readonly string[];
	/** Text that means absent. The empty text always does. */
	absentText?: string;
}

/** Fields whose names end in `[]` are lists. Throws 5006. */
export function readFormFields<Shape extends z.ZodRawShape>(
	form: MultipartForm,
	schema: z.ZodObject<Shape>,
	{ numbers, absentText }: FieldRules,
): z.output<z.ZodObject<Shape>> {
	const fields = Object.keys(schema.shape).flatMap((name): [string, unknown][] => {
		const texts = form.texts(name);
		const [text] = texts;
		if (text === undefined || text === "" || text === absentText) return [];
		if (name.endsWith("[]")) return [[name, texts]];
		const number = numbers.includes(name) ? Number(text) : Number.NaN;
		return [[name, Number.isNaN(number) ? text : number]];
	});
	return validate(schema, Object.fromEntries(fields));
}
