"""Names and places for the sample store: invented customers in real cities, with matching zip code prefixes."""

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
