import { Badge } from "@cloudflare/kumo/components/badge";
import { Table } from "@cloudflare/kumo/components/table";
import type { ExplainedTarget } from "../api/types.ts";
import { Scroll } from "./scroll.tsx";

/** The engines of a plan, in the order in which they are tried. */
export function TargetTable({ targets }: { targets: readonly ExplainedTarget[] }) {
	return (
		<Scroll label="Engines">
			<Table>
				<Table.Header>
					<Table.Row>
						<Table.Head>Backend</Table.Head>
						<Table.Head>Model</Table.Head>
						<Table.Head>Circuit</Table.Head>
						<Table.Head>Why</Table.Head>
					</Table.Row>
				</Table.Header>
				<Table.Body>
					{targets.map(({ backend, kind, replica, model, circuit, why }) => (
						<Table.Row key={`${backend} ${replica?.number} ${model}`}>
							<Table.Cell>
								{backend} <span className="subtle">{replica?.host ?? kind}</span>
							</Table.Cell>
							<Table.Cell>{model}</Table.Cell>
							<Table.Cell>
								<Circuit state={circuit} />
							</Table.Cell>
							<Table.Cell>{why}</Table.Cell>
						</Table.Row>
					))}
				</Table.Body>
			</Table>
		</Scroll>
	);
}

const VARIANTS = { closed: "success", "half-open": "warning", open: "error" } as const;

export function Circuit({ state }: { state: string }) {
	const variant =
		state === "closed" || state === "half-open" || state === "open" ? VARIANTS[state] : "secondary";
	return <Badge variant={variant}>{state}</Badge>;
}
