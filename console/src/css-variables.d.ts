import "react";

declare module "react" {
	interface CSSProperties {
		/** Of a cell of the similarity matrix: 0 to 1. */
		"--share"?: number;
	}
}
