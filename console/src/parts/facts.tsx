import type { ReactNode } from "react";

const LONG_CHARS = 20;

/** Names and values. Rows without a value are left out. A long text gets a row of its own. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
	return (
		<dl className="facts">
			{rows
				.filter(([, value]) => value !== undefined && value !== null && value !== "")
				.map(([name, value]) => (
					<div key={name} className={typeof value === "string" && value.length > LONG_CHARS ? "long" : ""}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
		</dl>
	);
}
