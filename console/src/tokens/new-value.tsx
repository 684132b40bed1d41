import { Button } from "@cloudflare/kumo/components/button";
import { Code } from "../parts/code.tsx";
import { Section } from "../parts/page.tsx";

interface Props {
	name: string;
	value: string;
	onClose(): void;
}

/** The gateway stores only a hash, so it cannot show the value again. */
export const NewValue = ({ name, value, onClose }: Props) => (
	<Section title={`Value of ${name}`}>
		<p>Copy it now. It is shown only once.</p>
		<Code label="token" text={value} />
		<div className="buttons">
			<Button onClick={onClose}>Done</Button>
		</div>
	</Section>
);
