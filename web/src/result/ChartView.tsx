// A chart: bars in rows with their values beside them, which reads on a phone too, or lines over an axis.
import { useElementSize } from "@mantine/hooks";
import { type Chart, parts, type Series, short, ticks } from "./chart";
import { shown } from "./table";

export default function ChartView({ chart }: { chart: Chart }) {
  return parts(chart).map((one) => <Part key={one.series[0]?.name} chart={one} />);
}

function Part({ chart }: { chart: Chart }) {
  return (
    <figure className="chart" data-testid="chart" data-kind={chart.kind}>
      {chart.series.length > 1 && (
        <figcaption className="chart-legend">
          {chart.series.map((one, index) => (
            <span key={one.name}>
              <span className="chart-key" data-series={index} aria-hidden="true" /> {one.name}
            </span>
          ))}
        </figcaption>
      )}
      {chart.series.length === 1 && <figcaption className="dimmed">{chart.series[0]?.name}</figcaption>}
      {chart.kind === "bar" ? <Bars chart={chart} /> : <Lines chart={chart} />}
    </figure>
  );
}

function Bars({ chart: { labels, series } }: { chart: Chart }) {
  const all = series.flatMap((one) => one.values.map((value) => value ?? 0));
  const low = Math.min(0, ...all);
  const room = Math.max(0, ...all) - low || 1;
  const percent = (value: number) => `${(value / room) * 100}%`;
  return (
    <ul className="chart-bars">
      {labels.map((label, row) => (
        <li key={row}>
          <span className="chart-label" title={label}>
            {label || "–"}
          </span>
          <span className="chart-row">
            {series.map((one, index) => {
              const value = one.values[row] ?? null;
              return (
                <span key={one.name} className="chart-bar">
                  <span className="chart-track">
                    {value !== null && <span className="chart-fill" data-series={index} style={{ marginLeft: percent(Math.min(value, 0) - low), width: percent(Math.abs(value)) }} />}
                  </span>
                  <span className="chart-value">{value === null ? "–" : shown(value)}</span>
                </span>
              );
            })}
          </span>
        </li>
      ))}
    </ul>
  );
}

const HEIGHT = 240;
const EDGE = { left: 52, right: 14, top: 10, bottom: 26 };
const LABEL = 84; // pixels that a label below the axis needs

function Lines({ chart: { labels, series } }: { chart: Chart }) {
  const { ref, width } = useElementSize();
  const marks = ticks(series);
  const [low = 0, high = 1] = [marks[0], marks.at(-1)];
  const inner = Math.max(0, width - EDGE.left - EDGE.right);
  const x = (index: number) => EDGE.left + (labels.length > 1 ? (index / (labels.length - 1)) * inner : inner / 2);
  const y = (value: number) => EDGE.top + (1 - (value - low) / (high - low || 1)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const every = Math.max(1, Math.ceil(labels.length / Math.max(1, Math.floor(inner / LABEL))));
  return (
    <div ref={ref} style={{ height: HEIGHT }}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={`${series.map((one) => one.name).join(", ")} from ${labels[0]} to ${labels.at(-1)}`}>
          {marks.map((mark) => (
            <g key={mark} className="chart-mark">
              <line x1={EDGE.left} x2={width - EDGE.right} y1={y(mark)} y2={y(mark)} data-zero={mark === 0 || undefined} />
              <text x={EDGE.left - 8} y={y(mark)} textAnchor="end" dominantBaseline="middle">
                {short(mark)}
              </text>
            </g>
          ))}
          {labels.map((label, index) =>
            index % every === 0 ? (
              <text key={index} className="chart-tick" x={x(index)} y={HEIGHT - 6} textAnchor={index === 0 ? "start" : index === labels.length - 1 ? "end" : "middle"}>
                {label.length > 12 ? `${label.slice(0, 11)}…` : label}
              </text>
            ) : null,
          )}
          {series.map((one, index) => (
            <OneLine key={one.name} series={one} index={index} labels={labels} x={x} y={y} />
          ))}
        </svg>
      )}
    </div>
  );
}

interface LineProps {
  series: Series;
  index: number;
  labels: readonly string[];
  x: (index: number) => number;
  y: (value: number) => number;
}

/** A gap in the values is a gap in the line. */
function OneLine({ series, index, labels, x, y }: LineProps) {
  const line = series.values.map((value, at) => (value === null ? "" : `${at === 0 || series.values[at - 1] === null ? "M" : "L"} ${x(at)} ${y(value)}`)).join(" ");
  return (
    <g className="chart-line" data-series={index}>
      <path d={line} />
      {series.values.map((value, at) =>
        value === null ? null : (
          <circle key={at} cx={x(at)} cy={y(value)} r={series.values.length > 60 ? 1.5 : 3}>
            <title>
              {labels[at]}: {shown(value)}
            </title>
          </circle>
        ),
      )}
    </g>
  );
}
