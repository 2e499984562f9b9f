"""What the sample store is made of: fifty invented products with their options, and customers in real cities."""

from typing import NamedTuple

FIRST = """
Ada Alma Amir Bela Bruno Cara Cleo Dario Dina Edith Elif Enzo Felix Freya Gina Hana Hugo Ines Iris Jonas Jude
Kira Kofi Lars Lena Leon Luz Maya Milo Nadia Nils Nina Oona Oscar Paula Petra Priya Quinn Rosa Ruben Selma
Simon Tara Theo Tomas Uma Vera Viktor Wanda Zoe
"""
LAST = """
Abbott Arden Baker Banerjee Beck Bell Carver Castillo Chandra Costa Dahl Diaz Dunn Eriksen Farrow Fischer
Foster Grant Haddad Hale Horvat Hughes Ibarra Jansen Keller Kaya Lang Lindgren Marsh Mendes Mori Nash Novak
Okafor Olsen Park Pereira Quist Reyes Rowe Sato Sharma Stone Tanaka Torres Ueda Vance Walsh Weber Young
"""
FIRST_NAMES, LAST_NAMES = tuple(FIRST.split()), tuple(LAST.split())
STREETS = (
    *("Alder Way", "Barley Lane", "Bridge Street", "Canal Road", "Clover Court", "Copper Street", "Eastgate Avenue"),
    *("Fern Hollow", "Foundry Road", "Garden Terrace", "Granite Avenue", "Harbor View", "Heron Lane", "Juniper Street"),
    *(
        "Lantern Street",
        "Linden Avenue",
        "Mason Street",
        "Meadow Lane",
        "Mill Road",
        "Orchard Street",
        "Prospect Place",
    ),
    *("Quarry Lane", "Ridge Road", "Saddle Court", "Station Road", "Tanner Street", "Valley Drive", "Willow Bend"),
)
UNITS = ("Apt", "Unit", "Floor", "Suite")
CITIES = (  # city, state, the first three digits of its zip codes
    ("Albuquerque", "NM", "871"),
    ("Atlanta", "GA", "303"),
    ("Baltimore", "MD", "212"),
    ("Boise", "ID", "837"),
    ("Boston", "MA", "021"),
    ("Buffalo", "NY", "142"),
    ("Detroit", "MI", "482"),
    ("Honolulu", "HI", "968"),
    ("Kansas City", "MO", "641"),
    ("Madison", "WI", "537"),
    ("Milwaukee", "WI", "532"),
    ("Minneapolis", "MN", "554"),
    ("Nashville", "TN", "372"),
    ("New Orleans", "LA", "701"),
    ("Omaha", "NE", "681"),
    ("Pittsburgh", "PA", "152"),
    ("Portland", "OR", "972"),
    ("Raleigh", "NC", "276"),
    ("Richmond", "VA", "232"),
    ("Sacramento", "CA", "958"),
    ("Salt Lake City", "UT", "841"),
    ("Tucson", "AZ", "857"),
    ("Tulsa", "OK", "741"),
)
BRANDS = ("visa", "mastercard")
TABLE = """
Alarm Clock | 34 | color: white, walnut, mint | display: analog, digital | power: battery, mains
Area Rug | 168 | size: 4x6 ft, 5x8 ft, 8x10 ft | material: wool, jute, cotton | pattern: plain, striped, geometric
Backpack | 79 | color: black, olive, rust | capacity: 18 L, 26 L, 34 L | back panel: mesh, foam
Bath Towel Set | 46 | color: white, sage, slate, coral | pieces: 2, 4, 6 | weave: terry, waffle
Beanie | 19 | color: charcoal, mustard, teal, cream | material: wool, acrylic | fit: snug, slouchy
Bike Pump | 41 | type: floor, mini | gauge: none, dial, digital | valve: presta, schrader, both
Blender | 119 | capacity: 1 L, 1.5 L, 2 L | jar: glass, plastic | power: 600 W, 900 W, 1200 W
Board Game | 38 | theme: farming, pirates, railways, space | players: 2, 2-4, 3-6 | level: family, expert
Camping Chair | 58 | color: forest, navy, sand | frame: steel, aluminum | armrests: yes, no
Chef Knife | 92 | blade: 6 inch, 8 inch, 10 inch | steel: carbon, stainless | handle: oak, resin
Cutting Board | 29 | material: bamboo, maple, plastic | size: small, medium, large | groove: yes, no
Dinner Plate Set | 64 | color: white, indigo, terracotta | pieces: 4, 6, 8 | finish: matte, glossy
Dog Leash | 22 | length: 4 ft, 6 ft, 10 ft | material: rope, leather, nylon | color: red, blue, tan
Down Vest | 98 | color: black, plum, moss | size: XS, S, M, L, XL | hood: yes, no
Duffel Bag | 87 | capacity: 30 L, 45 L, 60 L | color: gray, navy, orange | wheels: yes, no
Floor Lamp | 134 | color: black, brass, white | shade: linen, metal, paper | dimmer: yes, no
Frying Pan | 52 | diameter: 8 inch, 10 inch, 12 inch | material: cast iron, ceramic, stainless steel | lid: yes, no
Guitar | 289 | body: dreadnought, parlor, concert | wood: spruce, cedar, mahogany | finish: natural, sunburst
Hand Mixer | 44 | color: white, red, mint | speeds: 3, 5, 7 | bowl: included, none
Headlamp | 36 | brightness: 200 lm, 400 lm, 800 lm | battery: AAA, rechargeable | color: black, yellow
Headphones | 156 | color: black, white, blue | fit: over-ear, on-ear | connection: bluetooth, cable | mic: yes, no
Hoodie | 57 | color: gray, burgundy, navy, green | size: S, M, L, XL, XXL | style: pullover, zip
Jeans | 69 | waist: 30, 32, 34, 36 | cut: slim, straight, relaxed | color: indigo, black, light blue
Jump Rope | 17 | length: 8 ft, 9 ft, 10 ft | cable: steel, PVC, cotton | grip: foam, wood
Kettle | 63 | color: black, cream, steel | capacity: 1 L, 1.7 L | type: stovetop, electric | thermometer: yes, no
Keyboard | 108 | layout: full size, compact | switches: quiet, clicky, linear | backlight: white, RGB, none
Kids Scooter | 74 | color: pink, lime, sky blue | wheels: 2, 3 | age: 3-5, 6-9, 10-12
Leather Belt | 33 | color: black, cognac, dark brown | size: S, M, L, XL | buckle: brass, nickel
Lunch Box | 26 | material: steel, plastic, bamboo | compartments: 1, 2, 3 | color: mint, gray, peach
Monitor | 312 | size: 24 inch, 27 inch, 32 inch | resolution: full HD, QHD, 4K | panel: IPS, VA
Phone Case | 21 | color: clear, black, lilac, red | material: silicone, leather, recycled plastic | magnets: yes, no
Picture Frame | 24 | size: 5x7 inch, 8x10 inch, 11x14 inch | material: oak, metal, pine | color: natural, black, white
Pillow | 42 | filling: down, latex, memory foam | size: standard, queen, king | firmness: soft, medium, firm
Polo Shirt | 39 | color: white, navy, coral, green | size: S, M, L, XL | fit: regular, slim | sleeves: short, long
Power Bank | 48 | capacity: 5000 mAh, 10000 mAh, 20000 mAh | ports: 1, 2, 3 | color: black, white
Rain Boots | 61 | size: 6, 7, 8, 9, 10, 11 | color: yellow, black, olive | height: ankle, knee
Rain Jacket | 124 | color: yellow, navy, red | size: S, M, L, XL | lining: fleece, mesh, none
Rice Cooker | 83 | capacity: 3 cups, 6 cups, 10 cups | color: white, black, red | timer: yes, no
Shower Curtain | 27 | pattern: plain, leaves, waves | material: polyester, linen, PEVA | length: 72 inch, 84 inch
Sleeping Bag | 142 | rating: 50 F, 32 F, 15 F | filling: down, synthetic | length: regular, long | zipper: left, right
Standing Desk | 418 | width: 48 inch, 55 inch, 63 inch | top: oak, walnut, white | motor: single, dual
Table Lamp | 49 | color: green, black, copper | shade: glass, linen, paper | bulb: LED, halogen
Tennis Racket | 131 | weight: 260 g, 285 g, 300 g | grip size: L1, L2, L3, L4 | strung: yes, no
Tent | 247 | capacity: 1 person, 2 person, 4 person | seasons: 3, 4 | color: green, orange, gray
Throw Blanket | 54 | color: ivory, rust, forest, gray | material: cotton, fleece, wool | size: 50x60 inch, 60x80 inch
Toaster | 59 | slots: 2, 4 | color: black, cream, red, steel | bagel mode: yes, no
Tool Box | 66 | material: steel, plastic | drawers: none, 2, 4 | color: red, gray, blue
Trail Shoes | 117 | size: 7, 8, 9, 10, 11, 12 | color: black, orange, teal | waterproof: yes, no
Travel Mug | 28 | capacity: 12 oz, 16 oz, 20 oz | color: black, sage, copper, white | lid: flip, screw
Umbrella | 31 | type: folding, stick | color: black, polka dot, transparent | opening: manual, automatic
"""


class CatalogueProduct(NamedTuple):
    name: str
    price: int  # dollars; prices of variants vary around it
    options: dict[str, tuple[str, ...]]


def parse_product(line: str) -> CatalogueProduct:
    """The product of one line of the table."""
    name, price, *options = (part.strip() for part in line.split("|"))
    named = (option.split(": ") for option in options)
    return CatalogueProduct(name, int(price), {axis: tuple(values.split(", ")) for axis, values in named})


PRODUCTS = tuple(parse_product(line) for line in TABLE.strip().splitlines())
