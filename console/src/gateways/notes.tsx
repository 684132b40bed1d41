import { Section } from "../parts/page.tsx";

interface Props {
	title: string;
	notes: readonly string[];
}

/** What the answer to a change says beside its result. */
export const Notes = ({ title, notes }: Props) =>
	notes.length > 0 && (
		<Section title={title}>
			<div role="status">
				{notes.map((note) => (
					<p key={note} className="plain">
						{note}
					</p>
				))}
			</div>
		</Section>
	);
