/** What the vector indexes need, in addition to the services of the rooms below. Types only. */
import type { VectorIndexes } from "./client/vector-indexes.ts";

export interface VectorServices {
	vectorIndexes: VectorIndexes;
}
