/**
 * Failures of vector indexes, with the codes and texts of the product where they are known (docs/choices.md has the others). They contain
 * ids and names of properties, and no values or metadata.
 */
import { AiError } from "../../core/errors.ts";
import { shortened } from "../../core/shortened.ts";
import { MAX_METADATA_INDEXES } from "./limits.ts";

export const indexNotFound = (name: string): AiError =>
	new AiError("vectorIndexNotFound", `vectorize.index.not_found - Index name "${shortened(name)}"`);

export const indexExists = (name: string): AiError =>
	new AiError("vectorIndexExists", `vectorize.index.duplicate_name - Index name "${shortened(name)}"`);

/** `note`: a sentence with the name that was sent instead of the field, as also below. */
export const queryWidth = (expected: number, found: number, note?: string): AiError =>
	new AiError(
		"vectorQueryWidth",
		noted(`invalid query vector, expected ${expected} dimensions, and got ${found} dimensions`, note),
	);

export const vectorWidth = (id: string, expected: number, found: number): AiError =>
	new AiError(
		"vectorWidth",
		`invalid vector for id="${shortened(id)}", expected ${expected} dimensions, and got ${found} dimensions`,
	);

export const tooManyIds = (max: number, found: number): AiError =>
	new AiError("tooManyVectorIds", `too many ids in payload; max id count is ${max}, got ${found}`);

export const tooManyVectors = (max: number, found: number): AiError =>
	new AiError("tooManyVectors", `too many vectors in payload; max vector count is ${max}, got ${found}`);

export const idTooLong = (max: number, found: number): AiError =>
	new AiError("vectorIdTooLong", `id too long; max is ${max} bytes, got ${found} bytes`);

export const namespaceTooLong = (max: number, found: number): AiError =>
	new AiError("vectorNamespaceTooLong", `namespace too long; max is ${max} bytes, got ${found} bytes`);

export const metadataTooLarge = (id: string, max: number, found: number): AiError =>
	new AiError(
		"vectorMetadataTooLarge",
		`oversized metadata for vector id="${shortened(id)}"; the compact JSON representation of the metadata must not exceed ${max} bytes, got ${found} bytes`,
	);

export const metadataInvalid = (id: string, problem: string): AiError =>
	new AiError("vectorMetadataInvalid", `invalid metadata for vector id="${shortened(id)}"; ${problem}`);

export const topKTooLarge = (max: number, found: number): AiError =>
	new AiError("vectorTopKTooLarge", `max top K is ${max}, but got ${found}`);

export const detailedTopKTooLarge = (max: number, found: number, otherwise: number): AiError =>
	new AiError(
		"vectorTopKTooLarge",
		`with returnValues=true or returnMetadata=all, max top K is ${max}, but got ${found}; for a top K up to ${otherwise}, retry with returnValues=false and returnMetadata=indexed`,
	);

export const bodyUnreadable = (problem: string, note?: string): AiError =>
	new AiError("vectorQueryUnreadable", noted(`Failed to parse the request body as JSON: ${problem}`, note));

const noted = (refusal: string, note: string | undefined): string =>
	note === undefined ? refusal : `${refusal}; ${note}`;

export const vectorsUnreadable = (operation: string, format: string): AiError =>
	new AiError("vectorsUnreadable", `failed to parse ${operation} vectors request in ${format}`);

export const propertyNotIndexed = (property: string): AiError =>
	new AiError(
		"vectorFilterNotIndexed",
		`filter: the property "${shortened(property)}" has no metadata index; create one, and write the vectors again`,
	);

export const tooManyMetadataIndexes = (): AiError =>
	new AiError(
		"tooManyMetadataIndexes",
		`too many metadata indexes; max metadata index count is ${MAX_METADATA_INDEXES}`,
	);

export const cursorInvalid = (): AiError =>
	new AiError("vectorCursorInvalid", "the cursor is not valid or has expired: start a new list");

export const indexFull = (max: number): AiError =>
	new AiError(
		"storageFull",
		`The index has reached its limit of ${max} vectors: delete some, or use another store`,
	);

export const storeFull = (maxBytes: number): AiError =>
	new AiError(
		"storageFull",
		`The account's vector indexes have reached their limit of ${maxBytes} bytes (VECTORS.max_bytes): delete some vectors or indexes`,
	);
