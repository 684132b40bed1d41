import * as z from "zod";
import type { Model } from "../models/model.ts";
import { defaulted } from "./fields.ts";

/**
 * The schema of a model: the fields of its shape that it has, each with the default that the catalogue gives it. What
 * has no default stays absent, and is the reader's or the engine's to choose.
 */
export function modelFields<Shape extends z.ZodRawShape>(
	shape: Shape & Record<string, z.ZodType>,
	model: Model,
): z.ZodObject<Shape> {
	const fields = Object.entries<z.ZodType>(shape)
		.filter(([name]) => !model.inputFields || model.inputFields.includes(name))
		.map(([name, type]) => [name, name in model.defaults ? defaulted(model, name, type) : type]);
	return z.object(Object.fromEntries(fields) as Shape);
}
