/** Shapes of JSON Schema's keywords. A keyword of another shape has no effect. */
import { isRecord } from "../core/json.ts";

const isSchema = (value: unknown): boolean => isRecord(value) || typeof value === "boolean";
const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const SHAPES: readonly [keywords: string, isShape: (value: unknown) => boolean][] = [
	["allOf anyOf oneOf prefixItems enum", Array.isArray],
	["items", (value) => isSchema(value) || Array.isArray(value)],
	["not if then else contains propertyNames", isSchema],
	["additionalItems unevaluatedItems additionalProperties unevaluatedProperties", isSchema],
	["$defs definitions properties patternProperties dependentSchemas dependencies", isRecord],
	["dependentRequired", (value) => isRecord(value) && Object.values(value).every(isTexts)],
	["required", isTexts],
	["type", (value) => isText(value) || isTexts(value)],
	["$ref $id $schema $anchor pattern format", isText],
	["minimum maximum multipleOf minLength maxLength minItems maxItems", isNumber],
	["minProperties maxProperties minContains maxContains", isNumber],
	// Booleans in draft 4.
	["exclusiveMinimum exclusiveMaximum", (value) => isNumber(value) || typeof value === "boolean"],
];

const SHAPE_OF = new Map(
	SHAPES.flatMap(([keywords, isShape]) => keywords.split(" ").map((keyword) => [keyword, isShape] as const)),
);

/** True for what is no keyword. */
export const isWellFormed = (keyword: string, value: unknown): boolean =>
	SHAPE_OF.get(keyword)?.(value) ?? true;

/** Keywords whose value is a list of schemas, or may be one. */
export const SCHEMA_LISTS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
